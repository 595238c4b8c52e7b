// Images: CUDA arrays, and the texture and surface objects by which kernels read and write them.
// Source: the CUDA Driver API's reference manual, "Memory Management", "Texture Object Management".
#include "cuda/internal.h"
#include "cuda/embed.h"
#include <math.h>

// >>formats

typedef struct spyi_cuda_format {
    uint8_t format, array, channels; // the members are a spy_format, a CUarray_format and the number of
                                     // channels
    uint8_t view;                    // a CUresourceViewFormat
} spyi_cuda_format;

enum { // These are values of CUarray_format.
    SPYI_CU_UINT8 = 1,
    SPYI_CU_UINT16 = 2,
    SPYI_CU_UINT32 = 3,
    SPYI_CU_SINT8 = 8,
    SPYI_CU_SINT16 = 9,
    SPYI_CU_SINT32 = 10,
    SPYI_CU_HALF = 16,
    SPYI_CU_FLOAT = 32
};

// The formats that arrays have. unorm and snorm are integers, which texture objects read as floats.
static const spyi_cuda_format spyi_cuda_formats[] = {
    { SPY_FORMAT_R8_UINT, SPYI_CU_UINT8, 1, 1 },        { SPY_FORMAT_R8_SINT, SPYI_CU_SINT8, 1, 4 },
    { SPY_FORMAT_R8_UNORM, SPYI_CU_UINT8, 1, 1 },       { SPY_FORMAT_R8_SNORM, SPYI_CU_SINT8, 1, 4 },
    { SPY_FORMAT_RG8_UINT, SPYI_CU_UINT8, 2, 2 },       { SPY_FORMAT_RG8_SINT, SPYI_CU_SINT8, 2, 5 },
    { SPY_FORMAT_RG8_UNORM, SPYI_CU_UINT8, 2, 2 },      { SPY_FORMAT_RG8_SNORM, SPYI_CU_SINT8, 2, 5 },
    { SPY_FORMAT_RGBA8_UINT, SPYI_CU_UINT8, 4, 3 },     { SPY_FORMAT_RGBA8_SINT, SPYI_CU_SINT8, 4, 6 },
    { SPY_FORMAT_RGBA8_UNORM, SPYI_CU_UINT8, 4, 3 },    { SPY_FORMAT_RGBA8_UNORM_SRGB, SPYI_CU_UINT8, 4, 3 },
    { SPY_FORMAT_RGBA8_SNORM, SPYI_CU_SINT8, 4, 6 },    { SPY_FORMAT_R16_UINT, SPYI_CU_UINT16, 1, 7 },
    { SPY_FORMAT_R16_SINT, SPYI_CU_SINT16, 1, 10 },     { SPY_FORMAT_R16_UNORM, SPYI_CU_UINT16, 1, 7 },
    { SPY_FORMAT_R16_SNORM, SPYI_CU_SINT16, 1, 10 },    { SPY_FORMAT_R16_FLOAT, SPYI_CU_HALF, 1, 19 },
    { SPY_FORMAT_RG16_UINT, SPYI_CU_UINT16, 2, 8 },     { SPY_FORMAT_RG16_SINT, SPYI_CU_SINT16, 2, 11 },
    { SPY_FORMAT_RG16_UNORM, SPYI_CU_UINT16, 2, 8 },    { SPY_FORMAT_RG16_SNORM, SPYI_CU_SINT16, 2, 11 },
    { SPY_FORMAT_RG16_FLOAT, SPYI_CU_HALF, 2, 20 },     { SPY_FORMAT_RGBA16_UINT, SPYI_CU_UINT16, 4, 9 },
    { SPY_FORMAT_RGBA16_SINT, SPYI_CU_SINT16, 4, 12 },  { SPY_FORMAT_RGBA16_UNORM, SPYI_CU_UINT16, 4, 9 },
    { SPY_FORMAT_RGBA16_SNORM, SPYI_CU_SINT16, 4, 12 }, { SPY_FORMAT_RGBA16_FLOAT, SPYI_CU_HALF, 4, 21 },
    { SPY_FORMAT_R32_UINT, SPYI_CU_UINT32, 1, 13 },     { SPY_FORMAT_R32_SINT, SPYI_CU_SINT32, 1, 16 },
    { SPY_FORMAT_R32_FLOAT, SPYI_CU_FLOAT, 1, 22 },     { SPY_FORMAT_RG32_UINT, SPYI_CU_UINT32, 2, 14 },
    { SPY_FORMAT_RG32_SINT, SPYI_CU_SINT32, 2, 17 },    { SPY_FORMAT_RG32_FLOAT, SPYI_CU_FLOAT, 2, 23 },
    { SPY_FORMAT_RGBA32_UINT, SPYI_CU_UINT32, 4, 15 },  { SPY_FORMAT_RGBA32_SINT, SPYI_CU_SINT32, 4, 18 },
    { SPY_FORMAT_RGBA32_FLOAT, SPYI_CU_FLOAT, 4, 24 },
};

static const spyi_cuda_format *spyi_cuda_find_format(uint32_t format) {
    for (size_t i = 0; i < sizeof spyi_cuda_formats / sizeof spyi_cuda_formats[0]; i++)
        if (spyi_cuda_formats[i].format == format) return &spyi_cuda_formats[i];
    return NULL;
}

static uint32_t spyi_cuda_channel_bytes(const spyi_cuda_format *format) {
    switch (format->array) {
    case SPYI_CU_UINT8:
    case SPYI_CU_SINT8: return 1;
    case SPYI_CU_UINT16:
    case SPYI_CU_SINT16:
    case SPYI_CU_HALF: return 2;
    default: return 4;
    }
}

static uint32_t spyi_cuda_texel_bytes(const spyi_cuda_format *format) {
    return spyi_cuda_channel_bytes(format) * format->channels;
}

// Returns whether shaders get integers, which cannot be filtered.
static bool spyi_cuda_is_integer(const spyi_cuda_format *format) {
    switch (format->format) {
    case SPY_FORMAT_R8_UINT:
    case SPY_FORMAT_R8_SINT:
    case SPY_FORMAT_RG8_UINT:
    case SPY_FORMAT_RG8_SINT:
    case SPY_FORMAT_RGBA8_UINT:
    case SPY_FORMAT_RGBA8_SINT:
    case SPY_FORMAT_R16_UINT:
    case SPY_FORMAT_R16_SINT:
    case SPY_FORMAT_RG16_UINT:
    case SPY_FORMAT_RG16_SINT:
    case SPY_FORMAT_RGBA16_UINT:
    case SPY_FORMAT_RGBA16_SINT: return true;
    default: return format->array == SPYI_CU_UINT32 || format->array == SPYI_CU_SINT32;
    }
}

// Surfaces have no conversions: a store writes the bytes of the shader's own type, which has 32 bits a channel.
SPYI_FN uint32_t spyi_cuda_image_support(spyi_gpu *gpu, uint32_t number) {
    const spyi_cuda_format *format = spyi_cuda_find_format(number);
    uint32_t usage = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_COPIED | SPYI_BLITS;
    (void)gpu;
    if (format == NULL) return 0;
    if (spyi_cuda_channel_bytes(format) == 4) usage |= SPY_TEXTURE_USAGE_STORED;
    if (!spyi_cuda_is_integer(format)) usage |= SPY_TEXTURE_USAGE_FILTERED;
    return usage;
}

// >>arrays

SPYI_FN spy_status spyi_cuda_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_array_desc info;
    spyi_cu_result result;
    void *array = NULL;
    memset(image, 0, sizeof *image);
    if (status != SPY_OK) return status;
    if (format == NULL || desc->samples > 1) {
        spyi_text_add(error, desc->samples > 1 ? "CUDA has no multisampled textures"
                                               : "CUDA has no textures of this format");
        return SPY_ERROR_UNSUPPORTED;
    }
    memset(&info, 0, sizeof info);
    info.width = desc->width;
    info.height = desc->type == SPY_TEXTURE_TYPE_1D ? 0 : desc->height;
    info.format = format->array;
    info.channels = format->channels;
    if (desc->type == SPY_TEXTURE_TYPE_3D) info.depth = desc->depth;
    if (desc->array) info.flags |= SPYI_CU_ARRAY_LAYERED;
    if (desc->type == SPY_TEXTURE_TYPE_CUBE) info.flags |= SPYI_CU_ARRAY_CUBEMAP;
    if (info.flags) info.depth = desc->layers;
    if (desc->usage & SPY_TEXTURE_USAGE_STORED) info.flags |= SPYI_CU_ARRAY_SURFACE;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    result = desc->levels > 1 ? gpu->cu.MipmappedArrayCreate(&array, &info, desc->levels)
                              : gpu->cu.Array3DCreate(&array, &info);
    if (result == SPYI_CU_OK) {
        image->handle = (uint64_t)(uintptr_t)array;
        image->memory = desc->levels > 1 ? (void *)gpu : array; // spyi_cuda_destroy_image() tells mipmapped
                                                                // arrays from others by this member
        for (uint32_t level = 0; level < desc->levels; level++) {
            size_t width = spyi_cuda_level_size(desc->width, level),
                   height = spyi_cuda_level_size(desc->height, level),
                   depth = spyi_cuda_level_size(desc->depth, level);
            image->size += width * height * depth * desc->layers * spyi_cuda_texel_bytes(format);
        }
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += image->size;
    } else {
        spyi_text_add(error, "%s%s%s", label ? "for '" : "", label ? label : "", label ? "': " : "");
        status = spyi_cuda_fail(gpu, result, desc->levels > 1 ? "cuMipmappedArrayCreate" : "cuArray3DCreate",
                                error);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_image(spyi_gpu *base, spyi_image *image) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    void *array = (void *)(uintptr_t)image->handle;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (image->memory == array && array != NULL) (void)gpu->cu.ArrayDestroy(array);
    else if (image->memory != NULL) (void)gpu->cu.MipmappedArrayDestroy(array);
    if (image->memory != NULL) gpu->base.stats.driver_bytes -= image->size;
    memset(image, 0, sizeof *image);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// Returns the array of one level.
static spyi_cu_result spyi_cuda_level(spyi_cuda_gpu *gpu, uint64_t handle, const spyi_image_desc *desc,
                                      uint32_t level, void **array) {
    *array = (void *)(uintptr_t)handle;
    return desc->levels > 1 ? gpu->cu.MipmappedArrayGetLevel(array, *array, level) : SPYI_CU_OK;
}

// >>objects

// A sampler on CUDA: the part of each texture object that says how to sample. A view copies it.
typedef struct spyi_cuda_sampler {
    spyi_cu_texture_desc desc;
} spyi_cuda_sampler;

SPYI_FN spy_status spyi_cuda_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error) {
    static const uint8_t modes[] = { 0, 0, 2, 1, 3, 2 }; // the CUaddress_mode of each spy_address_mode
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_sampler *made;
    *sampler = 0;
    if (desc->compare != SPY_COMPARE_NONE || desc->reduction > SPY_REDUCTION_AVERAGE ||
        desc->address_u == SPY_ADDRESS_MODE_MIRROR_ONCE || desc->address_v == SPY_ADDRESS_MODE_MIRROR_ONCE ||
        desc->address_w == SPY_ADDRESS_MODE_MIRROR_ONCE ||
        (desc->min_filter == SPY_FILTER_NEAREST) != (desc->mag_filter == SPY_FILTER_NEAREST)) {
        spyi_text_add(error,
                      "CUDA has no samplers that compare, take the least or greatest texel, mirror once, or "
                      "have different min_filter and mag_filter");
        return SPY_ERROR_UNSUPPORTED;
    }
    made = (spyi_cuda_sampler *)spyi_allocate(gpu->base.ctx, sizeof *made);
    if (made == NULL) {
        spyi_text_add(error, "no host memory for a sampler");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memset(made, 0, sizeof *made);
    made->desc.address[0] = modes[desc->address_u];
    made->desc.address[1] = modes[desc->address_v];
    made->desc.address[2] = modes[desc->address_w];
    made->desc.filter = desc->min_filter != SPY_FILTER_NEAREST;
    made->desc.mip_filter = desc->mip_filter != SPY_FILTER_NEAREST;
    made->desc.flags = SPYI_CU_TEXTURE_NORMALIZED;
    made->desc.max_anisotropy = desc->max_anisotropy;
    made->desc.bias = desc->mip_bias;
    made->desc.min_level = desc->min_level;
    made->desc.max_level = desc->max_level > 0 ? desc->max_level : 1000.0f;
    memcpy(made->desc.border, desc->border, sizeof made->desc.border);
    *sampler = (uint64_t)(uintptr_t)made;
    return SPY_OK;
}

SPYI_FN void spyi_cuda_destroy_sampler(spyi_gpu *base, uint64_t sampler) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_free(gpu->base.ctx, (void *)(uintptr_t)sampler, sizeof(spyi_cuda_sampler));
}

static spyi_cu_result spyi_cuda_surface(spyi_cuda_gpu *gpu, const spyi_image *image,
                                        const spyi_image_desc *of, const spyi_image_view_desc *desc,
                                        uint64_t *view) {
    spyi_cu_resource_desc resource;
    spyi_cu_result result;
    memset(&resource, 0, sizeof resource);
    result = spyi_cuda_level(gpu, image->handle, of, desc->first_level, &resource.array);
    return result == SPYI_CU_OK ? gpu->cu.SurfObjectCreate(view, &resource) : result;
}

static spyi_cu_result spyi_cuda_texture(spyi_cuda_gpu *gpu, const spyi_image *image,
                                        const spyi_image_desc *of, const spyi_image_view_desc *desc,
                                        const spyi_cuda_format *format, const spyi_cuda_sampler *sampler,
                                        uint64_t *view) {
    spyi_cu_resource_desc resource;
    spyi_cu_texture_desc texture;
    spyi_cu_view_desc part;
    bool whole = desc->first_layer == 0 && desc->layer_count == of->layers && desc->format == of->format;
    memset(&resource, 0, sizeof resource);
    memset(&texture, 0, sizeof texture);
    memset(&part, 0, sizeof part);
    resource.type = of->levels > 1 ? SPYI_CU_RESOURCE_MIPMAPPED : SPYI_CU_RESOURCE_ARRAY;
    resource.array = (void *)(uintptr_t)image->handle;
    if (of->levels > 1 && desc->level_count == 1) { // CUDA makes each level an array of its own
        spyi_cu_result result = spyi_cuda_level(gpu, image->handle, of, desc->first_level, &resource.array);
        if (result != SPYI_CU_OK) return result;
        resource.type = SPYI_CU_RESOURCE_ARRAY;
    }
    part.format = format->view;
    part.width = spyi_cuda_level_size(of->width, desc->first_level);
    part.height = of->type == SPY_TEXTURE_TYPE_1D ? 0 : spyi_cuda_level_size(of->height, desc->first_level);
    part.depth = of->type == SPY_TEXTURE_TYPE_3D ? spyi_cuda_level_size(of->depth, desc->first_level) : 0;
    if (resource.type == SPYI_CU_RESOURCE_MIPMAPPED) {
        part.first_level = desc->first_level;
        part.last_level = desc->first_level + desc->level_count - 1;
        whole = whole && desc->first_level == 0 && desc->level_count == of->levels;
    }
    part.first_layer = desc->first_layer;
    part.last_layer = desc->first_layer + desc->layer_count - 1;
    if (of->array || of->type == SPY_TEXTURE_TYPE_CUBE) part.depth = desc->layer_count;
    if (sampler != NULL) {
        texture = sampler->desc;
    } else { // this is a view for loads: those of 1-D textures are samples (prelude.cuh), which the levels'
             // limit would hold at level 0
        texture.address[0] = texture.address[1] = texture.address[2] = SPYI_CU_ADDRESS_CLAMP;
        texture.max_level = 1000.0f;
    }
    // A GPU filters a 1-D texture as one row of a 2-D texture, at the edge of that row: with BORDER across the row,
    // half of each sample would be the border's colour.
    if (of->type == SPY_TEXTURE_TYPE_1D) texture.address[1] = SPYI_CU_ADDRESS_CLAMP;
    texture.flags |= SPYI_CU_TEXTURE_NORMALIZED; // mipmapped arrays need it; loads by coordinates ignore it
    if (spyi_cuda_is_integer(format)) {
        texture.flags |= SPYI_CU_TEXTURE_INTEGER;
        texture.filter = texture.mip_filter = 0;
    }
    // CUDA refuses this flag for other types
    if (of->type == SPY_TEXTURE_TYPE_CUBE) texture.flags |= SPYI_CU_TEXTURE_SEAMLESS;
    if (desc->format == SPY_FORMAT_RGBA8_UNORM_SRGB) texture.flags |= SPYI_CU_TEXTURE_SRGB;
    return gpu->cu.TexObjectCreate(view, &resource, &texture, whole ? NULL : &part);
}

SPYI_FN spy_status spyi_cuda_create_view(spyi_gpu *base, const spyi_image *image, const spyi_image_desc *of,
                                         const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                                         spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    *view = 0;
    if (status != SPY_OK) return status;
    if (format == NULL || desc->type != of->type || desc->array != of->array ||
        (desc->stored && (desc->first_layer != 0 || desc->layer_count != of->layers))) {
        spyi_text_add(error, "CUDA's textures have the type of the texture that they were made from; %s",
                      desc->stored ? "stores need all its layers"
                                   : "take all layers, or a texture for each layer");
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    result = desc->stored ? spyi_cuda_surface(gpu, image, of, desc, view)
                          : spyi_cuda_texture(gpu, image, of, desc, format,
                                              (const spyi_cuda_sampler *)(uintptr_t)sampler, view);
    if (result != SPYI_CU_OK)
        status =
            spyi_cuda_fail(gpu, result, desc->stored ? "cuSurfObjectCreate" : "cuTexObjectCreate", error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_view(spyi_gpu *base, uint64_t view, bool stored) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (stored) (void)gpu->cu.SurfObjectDestroy(view);
    else (void)gpu->cu.TexObjectDestroy(view);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// The texture or surface object itself is Slang's handle.
SPYI_FN spy_status spyi_cuda_add_handle(spyi_gpu *base, const spyi_binding *binding, uint64_t *handle,
                                        spyi_text *error) {
    (void)base;
    *handle = binding->handle;
    if (binding->kind == SPYI_BINDING_TEXTURE || binding->kind == SPYI_BINDING_RW_TEXTURE) return SPY_OK;
    spyi_text_add(error, "on CUDA only textures have handles, and without a sampler");
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN void spyi_cuda_remove_handle(spyi_gpu *base, spyi_binding_kind kind, uint64_t handle) {
    (void)base, (void)kind, (void)handle;
}

// >>work

// Describes one end of a copy, which is texels of an image. Layers are the third dimension of arrays.
static spyi_cu_result spyi_cuda_image_end(spyi_cuda_gpu *gpu, uint64_t handle, const spyi_image_desc *desc,
                                          const spyi_image_box *box, spyi_cu_copy_end *end) {
    memset(end, 0, sizeof *end);
    end->x_bytes = (size_t)box->x * spyi_cuda_texel_bytes(spyi_cuda_find_format(desc->format));
    end->y = box->y;
    end->z = desc->type == SPY_TEXTURE_TYPE_3D ? box->z : box->first_layer;
    end->memory_type = SPYI_CU_MEMORY_TYPE_ARRAY;
    return spyi_cuda_level(gpu, handle, desc, box->level, &end->array);
}

static void spyi_cuda_image_size(const spyi_image_desc *desc, const spyi_image_box *box,
                                 spyi_cu_copy_params *copy) {
    copy->width_bytes = (size_t)box->width * spyi_cuda_texel_bytes(spyi_cuda_find_format(desc->format));
    copy->height = box->height;
    copy->depth = desc->type == SPY_TEXTURE_TYPE_3D ? box->depth : box->layer_count;
}

// Graphs hold dispatches, copies and fills of memory only.
static spy_status spyi_cuda_no_graph(const spyi_cuda_gpu *gpu, spyi_text *error) {
    if (gpu->graph == NULL) return SPY_OK;
    spyi_text_add(error, "copies of textures cannot be part of a graph");
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_cuda_copied(spyi_cuda_gpu *gpu, spyi_cu_result result, spyi_text *error) {
    return result == SPYI_CU_OK ? spyi_cuda_worked(gpu, error)
                                : spyi_cuda_fail(gpu, result, "cuMemcpy3DAsync", error);
}

SPYI_FN spy_status spyi_cuda_image_bytes(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    spyi_cu_copy_params copy;
    spyi_cu_copy_end image, bytes;
    spyi_cu_result result;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK) {
        memset(&copy, 0, sizeof copy);
        memset(&bytes, 0, sizeof bytes);
        bytes.memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
        bytes.device = w->chunk->address + w->offset;
        bytes.pitch = (size_t)w->row_pitch;
        bytes.height = (size_t)(w->slice_pitch / w->row_pitch);
        result = spyi_cuda_image_end(gpu, w->image, &w->desc, &w->box, &image);
        copy.from = w->to_image ? bytes : image;
        copy.to = w->to_image ? image : bytes;
        spyi_cuda_image_size(&w->desc, &w->box, &copy);
        if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
        status = spyi_cuda_copied(gpu, result, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_image_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK) {
        spyi_cu_copy_params copy;
        spyi_cu_result result;
        memset(&copy, 0, sizeof copy);
        result = spyi_cuda_image_end(gpu, w->from, &w->from_desc, &w->from_box, &copy.from);
        if (result == SPYI_CU_OK) result = spyi_cuda_image_end(gpu, w->to, &w->to_desc, &w->to_box, &copy.to);
        spyi_cuda_image_size(&w->from_desc, &w->from_box, &copy);
        if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
        status = spyi_cuda_copied(gpu, result, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>clears

static uint32_t spyi_cuda_half(float value) {
    uint32_t bits, sign, mantissa;
    int32_t exponent;
    memcpy(&bits, &value, 4);
    sign = bits >> 16 & 0x8000u;
    exponent = (int32_t)(bits >> 23 & 255u) - 127 + 15;
    mantissa = bits & 0x7fffffu;
    if ((bits & 0x7fffffffu) > 0x7f800000u) return sign | 0x7e00u; // the number is not a number (NaN)
    if (exponent >= 31) return sign | 0x7c00u;
    if (exponent <= 0) {
        if (exponent < -10) return sign;
        mantissa |= 0x800000u;
        uint32_t shift = (uint32_t)(14 - exponent), half = mantissa >> shift,
                 rest = mantissa & ((1u << shift) - 1u);
        uint32_t middle = 1u << (shift - 1);
        return sign | (half + (rest > middle || (rest == middle && (half & 1u))));
    }
    bits = (uint32_t)exponent << 10 | mantissa >> 13;
    mantissa &= 0x1fffu;
    return sign | (bits + (mantissa > 0x1000u || (mantissa == 0x1000u && (bits & 1u))));
}

// Writes the bytes of a texel that has the given colour.
static void spyi_cuda_texel(const spyi_cuda_format *format, const spy_clear_color *color, uint8_t *out) {
    uint32_t size = spyi_cuda_channel_bytes(format);
    bool integer = spyi_cuda_is_integer(format);
    for (uint32_t c = 0; c < format->channels; c++) {
        uint32_t bits = color->uints[c];
        if (!integer && size == 2 && format->array == SPYI_CU_HALF) {
            bits = spyi_cuda_half(color->floats[c]);
        } else if (!integer && format->array != SPYI_CU_FLOAT) {
            bool is_signed = format->array == SPYI_CU_SINT8 || format->array == SPYI_CU_SINT16;
            double most = size == 1 ? (is_signed ? 127.0 : 255.0) : is_signed ? 32767.0 : 65535.0;
            double value = (double)color->floats[c], least = is_signed ? -1.0 : 0.0;
            value = value >= least ? value > 1.0 ? 1.0 : value : least; // a NaN becomes the least value
            if (format->format == SPY_FORMAT_RGBA8_UNORM_SRGB && c < 3)
                value = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1.0 / 2.4) - 0.055;
            bits = (uint32_t)(int32_t)floor(value * most + 0.5);
        }
        memcpy(out + c * size, &bits, size); // little-endian: the low bytes
    }
}

// Copies a page that is full of the texel, some rows at a time.
static spy_status spyi_cuda_clear_level(spyi_cuda_gpu *gpu, const spyi_image_clear_work *w, uint32_t level,
                                        const uint8_t *texel, uint32_t texel_bytes, spyi_text *error) {
    const spyi_image_desc *desc = &w->desc;
    uint32_t width = spyi_cuda_level_size(desc->width, level),
             height = spyi_cuda_level_size(desc->height, level),
             depth = spyi_cuda_level_size(desc->depth, level);
    size_t row = (size_t)width * texel_bytes, rows = SPYI_CUDA_PAGE_SIZE / row;
    spyi_cu_pointer unused;
    spyi_cu_copy_params copy;
    spyi_image_box box;
    char *host;
    if (rows < 1) rows = 1;
    if (rows > height) rows = height;
    spy_status status = spyi_cuda_take_bytes(gpu, row * rows, &host, &unused, error);
    if (status != SPY_OK) return status;
    for (size_t i = 0; i < (size_t)width * rows; i++) memcpy(host + i * texel_bytes, texel, texel_bytes);
    memset(&box, 0, sizeof box);
    box.level = level;
    box.width = width;
    box.depth = box.layer_count = 1;
    for (uint32_t z = 0; z < (desc->type == SPY_TEXTURE_TYPE_3D ? depth : w->layer_count); z++) {
        box.z = z;
        box.first_layer = w->first_layer + z;
        for (box.y = 0; box.y < height && status == SPY_OK; box.y += box.height) {
            box.height = height - box.y < rows ? height - box.y : (uint32_t)rows;
            memset(&copy, 0, sizeof copy);
            copy.from.memory_type = SPYI_CU_MEMORY_TYPE_HOST;
            copy.from.host = host;
            copy.from.pitch = row;
            copy.from.height = rows;
            spyi_cu_result result = spyi_cuda_image_end(gpu, w->image, desc, &box, &copy.to);
            spyi_cuda_image_size(desc, &box, &copy);
            if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
            status = spyi_cuda_copied(gpu, result, error);
        }
    }
    return status;
}

SPYI_FN spy_status spyi_cuda_image_clear(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)work;
    const spyi_cuda_format *format = spyi_cuda_find_format(w->desc.format);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    uint8_t texel[16];
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    spyi_cuda_texel(format, &w->color, texel);
    for (uint32_t i = 0; i < w->level_count && status == SPY_OK; i++)
        status =
            spyi_cuda_clear_level(gpu, w, w->first_level + i, texel, spyi_cuda_texel_bytes(format), error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>blits

// The arguments of the kernel in blit.cuh, which has the same structs.
typedef struct spyi_cuda_side {
    spyi_cu_pointer texels;
    uint32_t width, height, depth, layers, kind, channels, bytes, unused;
} spyi_cuda_side;
typedef struct spyi_cuda_blit_args {
    spyi_cuda_side to, from;
    uint32_t linear, unused;
} spyi_cuda_blit_args;

static uint32_t spyi_cuda_blit_kind(const spyi_cuda_format *format) {
    const spy_format_info *f = spyi_format(format->format);
    if (f->is_integer) return f->is_signed ? 1 : 0;
    if (f->is_srgb) return 4;
    if (f->is_unorm) return 2;
    if (f->is_snorm) return 3;
    return format->array == SPYI_CU_HALF ? 5 : 6;
}

// Compiles the kernel at the first blit.
static spy_status spyi_cuda_make_blit(spyi_cuda_gpu *gpu, spyi_text *error) {
    static const char *const options[] = { "-default-device", "-w", "-modify-stack-limit=false" };
    spyi_nvrtc nvrtc;
    spyi_text source = { NULL, 0, 0 }, code = { NULL, 0, 0 }, log = { NULL, 0, 0 };
    const char *const *line;
    spyi_cu_result result;
    spy_status status;
    bool good;
    if (gpu->blit != NULL) return SPY_OK;
    status = spyi_nvrtc_find(gpu->nvrtc_path, &nvrtc, error);
    if (status != SPY_OK) return status;
    for (line = spyi_text_blit; *line != NULL; line++) spyi_text_add(&source, "%s\n", *line);
    good = source.data != NULL && spyi_nvrtc_run(&nvrtc, (int)gpu->base.limits.profile.arch, false,
                                                 source.data, "spy_blit", options, 3, &code, &log);
    if (!good) {
        spyi_text_add(error, "NVRTC cannot compile the kernel of blits: %s", spyi_text_str(&log));
        status = SPY_ERROR_COMPILE;
    }
    if (good && gpu->blit_module == NULL) {
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.ModuleLoadData(&gpu->blit_module, code.data);
        spyi_cuda_restore(gpu, mode);
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuModuleLoadData of the kernel of blits", error);
    }
    if (status == SPY_OK) {
        result = gpu->cu.ModuleGetFunction(&gpu->blit, gpu->blit_module, "spy_blit");
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuModuleGetFunction of the kernel of blits", error);
    }
    spyi_text_free(&source);
    spyi_text_free(&code);
    spyi_text_free(&log);
    return status;
}

SPYI_FN void spyi_cuda_destroy_blit(spyi_cuda_gpu *gpu) {
    if (gpu->blit_module != NULL) (void)gpu->cu.ModuleUnload(gpu->blit_module);
}

// Takes memory for the texels of a box. Describes it to the kernel, and to a copy between the image and
// memory without gaps.
static spy_status spyi_cuda_blit_side(spyi_cuda_gpu *gpu, const spyi_image_desc *desc,
                                      const spyi_image_box *box, spyi_cuda_side *side, spyi_cu_copy_end *end,
                                      spyi_text *error) {
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    char *unused;
    memset(side, 0, sizeof *side);
    memset(end, 0, sizeof *end);
    side->width = box->width;
    side->height = box->height;
    side->depth = box->depth;
    side->layers = box->layer_count;
    side->kind = spyi_cuda_blit_kind(format);
    side->channels = format->channels;
    side->bytes = spyi_cuda_channel_bytes(format);
    end->memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
    end->pitch = (size_t)box->width * spyi_cuda_texel_bytes(format);
    end->height = box->height;
    spy_status status = spyi_cuda_take_bytes(gpu, end->pitch * box->height * box->depth * box->layer_count,
                                             &unused, &side->texels, error);
    end->device = side->texels;
    return status;
}

// Copies the texels to memory without gaps, and the result of the kernel back.
static spy_status spyi_cuda_blit_now(spyi_cuda_gpu *gpu, const spyi_image_blit_work *w, spyi_text *error) {
    spyi_cuda_blit_args args;
    spyi_cu_copy_params in, out;
    void *params[1];
    memset(&args, 0, sizeof args);
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    spy_status status = spyi_cuda_make_blit(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_side(gpu, &w->from_desc, &w->from_box, &args.from, &in.to, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_side(gpu, &w->to_desc, &w->to_box, &args.to, &out.from, error);
    if (status != SPY_OK) return status;
    args.linear = w->linear;
    params[0] = &args;
    uint64_t count = (uint64_t)args.to.width * args.to.height * args.to.depth * args.to.layers;
    spyi_cu_result result = spyi_cuda_image_end(gpu, w->from, &w->from_desc, &w->from_box, &in.from);
    spyi_cuda_image_size(&w->from_desc, &w->from_box, &in);
    if (result == SPYI_CU_OK) result = spyi_cuda_image_end(gpu, w->to, &w->to_desc, &w->to_box, &out.to);
    spyi_cuda_image_size(&w->to_desc, &w->to_box, &out);
    if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&in, gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_copied(gpu, result, error);
    result = gpu->cu.LaunchKernel(gpu->blit, (unsigned)((count + 255) / 256), 1, 1, 256, 1, 1, 0, gpu->stream,
                                  params, NULL);
    if (result != SPYI_CU_OK)
        return spyi_cuda_fail(gpu, result, "cuLaunchKernel of the kernel of blits", error);
    return spyi_cuda_copied(gpu, gpu->cu.Memcpy3DAsync(&out, gpu->stream), error);
}

SPYI_FN spy_status spyi_cuda_image_blit(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_now(gpu, (const spyi_image_blit_work *)(const void *)work, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}
