// Images, their views, and samplers. Each image has memory of its own: drivers allow thousands of allocations.
#include "vk/internal.h"

// The format that Vulkan has for each spy_format.
static const VkFormat spyi_vk_image_formats[SPY_FORMAT_COUNT] = {
    VK_FORMAT_UNDEFINED,
    VK_FORMAT_R8_UINT,
    VK_FORMAT_R8_SINT,
    VK_FORMAT_R8_UNORM,
    VK_FORMAT_R8_SNORM,
    VK_FORMAT_R8G8_UINT,
    VK_FORMAT_R8G8_SINT,
    VK_FORMAT_R8G8_UNORM,
    VK_FORMAT_R8G8_SNORM,
    VK_FORMAT_R8G8B8A8_UINT,
    VK_FORMAT_R8G8B8A8_SINT,
    VK_FORMAT_R8G8B8A8_UNORM,
    VK_FORMAT_R8G8B8A8_SRGB,
    VK_FORMAT_R8G8B8A8_SNORM,
    VK_FORMAT_B8G8R8A8_UNORM,
    VK_FORMAT_B8G8R8A8_SRGB,
    VK_FORMAT_B8G8R8A8_UNORM,
    VK_FORMAT_B8G8R8A8_SRGB,
    VK_FORMAT_R16_UINT,
    VK_FORMAT_R16_SINT,
    VK_FORMAT_R16_UNORM,
    VK_FORMAT_R16_SNORM,
    VK_FORMAT_R16_SFLOAT,
    VK_FORMAT_R16G16_UINT,
    VK_FORMAT_R16G16_SINT,
    VK_FORMAT_R16G16_UNORM,
    VK_FORMAT_R16G16_SNORM,
    VK_FORMAT_R16G16_SFLOAT,
    VK_FORMAT_R16G16B16A16_UINT,
    VK_FORMAT_R16G16B16A16_SINT,
    VK_FORMAT_R16G16B16A16_UNORM,
    VK_FORMAT_R16G16B16A16_SNORM,
    VK_FORMAT_R16G16B16A16_SFLOAT,
    VK_FORMAT_R32_UINT,
    VK_FORMAT_R32_SINT,
    VK_FORMAT_R32_SFLOAT,
    VK_FORMAT_R32G32_UINT,
    VK_FORMAT_R32G32_SINT,
    VK_FORMAT_R32G32_SFLOAT,
    VK_FORMAT_R32G32B32_UINT,
    VK_FORMAT_R32G32B32_SINT,
    VK_FORMAT_R32G32B32_SFLOAT,
    VK_FORMAT_R32G32B32A32_UINT,
    VK_FORMAT_R32G32B32A32_SINT,
    VK_FORMAT_R32G32B32A32_SFLOAT,
    VK_FORMAT_R64_UINT,
    VK_FORMAT_R64_SINT,
    VK_FORMAT_A4R4G4B4_UNORM_PACK16,
    VK_FORMAT_R5G6B5_UNORM_PACK16,
    VK_FORMAT_A1R5G5B5_UNORM_PACK16,
    VK_FORMAT_E5B9G9R9_UFLOAT_PACK32,
    VK_FORMAT_A2B10G10R10_UINT_PACK32,
    VK_FORMAT_A2B10G10R10_UNORM_PACK32,
    VK_FORMAT_B10G11R11_UFLOAT_PACK32,
    VK_FORMAT_D32_SFLOAT,
    VK_FORMAT_D16_UNORM,
    VK_FORMAT_D32_SFLOAT_S8_UINT,
    VK_FORMAT_BC1_RGBA_UNORM_BLOCK,
    VK_FORMAT_BC1_RGBA_SRGB_BLOCK,
    VK_FORMAT_BC2_UNORM_BLOCK,
    VK_FORMAT_BC2_SRGB_BLOCK,
    VK_FORMAT_BC3_UNORM_BLOCK,
    VK_FORMAT_BC3_SRGB_BLOCK,
    VK_FORMAT_BC4_UNORM_BLOCK,
    VK_FORMAT_BC4_SNORM_BLOCK,
    VK_FORMAT_BC5_UNORM_BLOCK,
    VK_FORMAT_BC5_SNORM_BLOCK,
    VK_FORMAT_BC6H_UFLOAT_BLOCK,
    VK_FORMAT_BC6H_SFLOAT_BLOCK,
    VK_FORMAT_BC7_UNORM_BLOCK,
    VK_FORMAT_BC7_SRGB_BLOCK,
    VK_FORMAT_ASTC_4x4_UNORM_BLOCK,
    VK_FORMAT_ASTC_4x4_SRGB_BLOCK,
    VK_FORMAT_ASTC_6x6_UNORM_BLOCK,
    VK_FORMAT_ASTC_6x6_SRGB_BLOCK,
    VK_FORMAT_ASTC_8x8_UNORM_BLOCK,
    VK_FORMAT_ASTC_8x8_SRGB_BLOCK,
};

SPYI_FN VkFormat spyi_vk_format(uint32_t format) {
    return format < SPY_FORMAT_COUNT ? spyi_vk_image_formats[format] : VK_FORMAT_UNDEFINED;
}

SPYI_FN VkImageAspectFlags spyi_vk_aspects(uint32_t format) {
    switch (format) {
    case SPY_FORMAT_D32_FLOAT:
    case SPY_FORMAT_D16_UNORM: return VK_IMAGE_ASPECT_DEPTH_BIT;
    case SPY_FORMAT_D32_FLOAT_S8_UINT: return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default: return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

SPYI_FN VkImageLayout spyi_vk_image_layout(uint32_t how, uint32_t format) {
    const uint32_t both = SPYI_USE_READS | SPYI_USE_WRITES;
    if (how == 0) return VK_IMAGE_LAYOUT_UNDEFINED;
    if (how & SPYI_USE_STORED) return VK_IMAGE_LAYOUT_GENERAL;
    if (how & SPYI_USE_SAMPLED) return VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    if (how & SPYI_USE_ATTACHMENT)
        return spyi_vk_aspects(format) == VK_IMAGE_ASPECT_COLOR_BIT
                   ? VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
                   : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    if ((how & both) == both) return VK_IMAGE_LAYOUT_GENERAL;
    return how & SPYI_USE_WRITES ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
                                 : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
}

SPYI_FN VkFormatFeatureFlags spyi_vk_format_features(const spyi_vk_gpu *gpu, uint32_t format) {
    VkFormatProperties properties;
    VkFormat vk = spyi_vk_format(format);
    if (vk == VK_FORMAT_UNDEFINED ||
        (vk == VK_FORMAT_A4R4G4B4_UNORM_PACK16 && gpu->adapter.api_version < VK_API_VERSION_1_3) ||
        (format >= SPY_FORMAT_BC1_UNORM && format <= SPY_FORMAT_BC7_UNORM_SRGB &&
         !gpu->adapter.features[SPYI_VK_FEATURE_textureCompressionBC]) ||
        (format >= SPY_FORMAT_ASTC4X4_UNORM &&
         !gpu->adapter.features[SPYI_VK_FEATURE_textureCompressionASTC_LDR]))
        return 0;
    gpu->instance.GetPhysicalDeviceFormatProperties(gpu->adapter.handle, vk, &properties);
    return properties.optimalTilingFeatures;
}

static VkImageUsageFlags spyi_vk_image_usage(uint32_t usage) {
    VkImageUsageFlags flags = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (usage & SPY_TEXTURE_USAGE_SAMPLED) flags |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (usage & SPY_TEXTURE_USAGE_STORED) flags |= VK_IMAGE_USAGE_STORAGE_BIT;
    if (usage & SPY_TEXTURE_USAGE_COLOR_TARGET) flags |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if (usage & SPY_TEXTURE_USAGE_DEPTH_TARGET) flags |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    return flags;
}

SPYI_FN uint32_t spyi_vk_image_support(spyi_gpu *base, uint32_t format) {
    const spyi_vk_gpu *gpu = (const spyi_vk_gpu *)(const void *)base;
    const VkFormatFeatureFlags has = spyi_vk_format_features(gpu, format);
    const VkFormatFeatureFlags copies =
        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    VkImageFormatProperties limits;
    uint32_t usage = 0;
    if ((has & copies) != copies) return 0;
    if (has & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) usage |= SPY_TEXTURE_USAGE_SAMPLED;
    if (has & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT) usage |= SPY_TEXTURE_USAGE_STORED;
    if (has & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) usage |= SPY_TEXTURE_USAGE_COLOR_TARGET;
    if (has & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BLEND_BIT) usage |= SPY_TEXTURE_USAGE_BLENDED;
    if (has & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) usage |= SPY_TEXTURE_USAGE_DEPTH_TARGET;
    if (has & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT) usage |= SPY_TEXTURE_USAGE_FILTERED;
    usage |= SPY_TEXTURE_USAGE_COPIED;
    if (has & VK_FORMAT_FEATURE_BLIT_SRC_BIT) usage |= SPYI_BLITS_FROM;
    if (has & VK_FORMAT_FEATURE_BLIT_DST_BIT) usage |= SPYI_BLITS_TO;
    const uint32_t targets = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_DEPTH_TARGET;
    if ((usage & targets) &&
        gpu->instance.GetPhysicalDeviceImageFormatProperties(
            gpu->adapter.handle, spyi_vk_format(format), VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
            spyi_vk_image_usage(usage & (targets | SPY_TEXTURE_USAGE_SAMPLED)), 0, &limits) == VK_SUCCESS &&
        limits.sampleCounts > VK_SAMPLE_COUNT_1_BIT)
        usage |= SPY_TEXTURE_USAGE_MULTISAMPLED;
    return usage;
}

// >>images

static void spyi_vk_image_info(const spyi_image_desc *desc, VkImageCreateInfo *info) {
    const bool plain = spyi_vk_aspects(desc->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    SPYI_VK_ZERO(*info);
    info->sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info->imageType = desc->type == SPY_TEXTURE_TYPE_1D   ? VK_IMAGE_TYPE_1D
                      : desc->type == SPY_TEXTURE_TYPE_3D ? VK_IMAGE_TYPE_3D
                                                          : VK_IMAGE_TYPE_2D;
    if (plain) info->flags |= VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT; // so that views may have other formats
    if (desc->type == SPY_TEXTURE_TYPE_CUBE) info->flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
    info->format = spyi_vk_format(desc->format);
    info->extent.width = desc->width;
    info->extent.height = desc->height;
    info->extent.depth = desc->depth;
    info->mipLevels = desc->levels;
    info->arrayLayers = desc->layers;
    info->samples = (VkSampleCountFlagBits)desc->samples;
    info->tiling = VK_IMAGE_TILING_OPTIMAL;
    info->usage = spyi_vk_image_usage(desc->usage);
    info->sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    info->initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
}

static spy_status spyi_vk_check_image(const spyi_vk_gpu *gpu, const spyi_image_desc *d,
                                      const VkImageCreateInfo *info, spyi_text *error) {
    const char *name = gpu->adapter.info.name;
    VkImageFormatProperties most;
    if (d->type == SPY_TEXTURE_TYPE_CUBE && d->array &&
        !gpu->adapter.features[SPYI_VK_FEATURE_imageCubeArray]) {
        spyi_text_add(error, "the device '%s' has no arrays of cubes (Vulkan feature imageCubeArray)", name);
        return SPY_ERROR_UNSUPPORTED;
    }
    VkResult result = gpu->instance.GetPhysicalDeviceImageFormatProperties(
        gpu->adapter.handle, info->format, info->imageType, info->tiling, info->usage, info->flags, &most);
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "the device '%s' has no textures of this type, format and usage together", name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (d->width > most.maxExtent.width || d->height > most.maxExtent.height ||
        d->depth > most.maxExtent.depth || d->layers > most.maxArrayLayers || d->levels > most.maxMipLevels) {
        spyi_text_add(error,
                      "%u x %u x %u texels, %u layers and %u levels exceed what '%s' has for this format: "
                      "%u x %u x %u, %u and %u",
                      d->width, d->height, d->depth, d->layers, d->levels, name, most.maxExtent.width,
                      most.maxExtent.height, most.maxExtent.depth, most.maxArrayLayers, most.maxMipLevels);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!(most.sampleCounts & d->samples)) {
        spyi_text_add(error, "the device '%s' has no %u samples for this format; it has", name, d->samples);
        for (uint32_t i = 1; i <= 64; i *= 2)
            if (most.sampleCounts & i) spyi_text_add(error, " %u", i);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

// Allocates memory for the image and binds it. On failure *what becomes the name of the Vulkan function that
// failed.
static VkResult spyi_vk_bind_image(spyi_vk_gpu *gpu, VkImage image, VkDeviceMemory *memory, size_t *size,
                                   const char **what) {
    const VkPhysicalDeviceMemoryProperties *types = &gpu->adapter.memory;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info;
    VkResult result;
    uint32_t i, type = UINT32_MAX;
    gpu->vk.vkGetImageMemoryRequirements(gpu->device, image, &needs);
    for (i = 0; i < types->memoryTypeCount; i++) {
        const bool local = (types->memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
        if (!(needs.memoryTypeBits >> i & 1u)) continue;
        if (type == UINT32_MAX) type = i;
        if (local) {
            type = i;
            break;
        }
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    *what = "vkAllocateMemory";
    result = type == UINT32_MAX ? VK_ERROR_FEATURE_NOT_PRESENT
                                : gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, memory);
    if (result != VK_SUCCESS) return result;
    *size = (size_t)needs.size;
    *what = "vkBindImageMemory";
    return gpu->vk.vkBindImageMemory(gpu->device, image, *memory, 0);
}

SPYI_FN spy_status spyi_vk_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                        spyi_image *image, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkImage handle = VK_NULL_HANDLE;
    VkImageCreateInfo info;
    VkResult result;
    const char *what = "vkCreateImage";
    size_t size = 0;
    memset(image, 0, sizeof *image);
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    spyi_vk_image_info(desc, &info);
    spy_status status = spyi_vk_check_image(gpu, desc, &info, error);
    if (status != SPY_OK) return status;
    result = gpu->vk.vkCreateImage(gpu->device, &info, NULL, &handle);
    if (result == VK_SUCCESS) result = spyi_vk_bind_image(gpu, handle, &memory, &size, &what);
    if (result != VK_SUCCESS) {
        if (handle != VK_NULL_HANDLE) gpu->vk.vkDestroyImage(gpu->device, handle, NULL);
        if (memory != VK_NULL_HANDLE) gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
        return spyi_vk_fail(gpu, result, what, error);
    }
    image->handle = (uint64_t)handle;
    image->memory = (void *)memory;
    image->size = size;
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += size;
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_IMAGE, image->handle, label);
    return SPY_OK;
}

SPYI_FN void spyi_vk_destroy_image(spyi_gpu *base, spyi_image *image) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (image->memory != NULL) { // imported images have no memory here: the engine owns them
        gpu->vk.vkDestroyImage(gpu->device, (VkImage)image->handle, NULL);
        gpu->vk.vkFreeMemory(gpu->device, (VkDeviceMemory)image->memory, NULL);
        gpu->base.stats.driver_bytes -= image->size;
    }
    memset(image, 0, sizeof *image);
}

// >>views

static VkImageViewType spyi_vk_view_type(const spyi_image_view_desc *d) {
    // the faces of a cube are layers of a target
    if (d->target && d->type == SPY_TEXTURE_TYPE_CUBE) return VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    switch (d->type) {
    case SPY_TEXTURE_TYPE_1D: return d->array ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_1D;
    case SPY_TEXTURE_TYPE_3D: return VK_IMAGE_VIEW_TYPE_3D;
    case SPY_TEXTURE_TYPE_CUBE: return d->array ? VK_IMAGE_VIEW_TYPE_CUBE_ARRAY : VK_IMAGE_VIEW_TYPE_CUBE;
    default: return d->array ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
    }
}

SPYI_FN spy_status spyi_vk_create_image_view(spyi_gpu *base, const spyi_image *image,
                                             const spyi_image_desc *image_desc,
                                             const spyi_image_view_desc *desc, uint64_t sampler,
                                             uint64_t *view, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    VkImageViewUsageCreateInfo usage; // the view's format need not have the image's other usages
    VkImageViewCreateInfo info;
    VkImageView handle = VK_NULL_HANDLE;
    (void)image_desc, (void)sampler;
    SPYI_VK_ZERO(usage);
    usage.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO;
    const bool color = spyi_vk_aspects(desc->format) == VK_IMAGE_ASPECT_COLOR_BIT;
    usage.usage = desc->target && color ? VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
                  : desc->target        ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
                  : desc->stored        ? VK_IMAGE_USAGE_STORAGE_BIT
                                        : VK_IMAGE_USAGE_SAMPLED_BIT;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    info.pNext = &usage;
    info.image = (VkImage)image->handle;
    info.viewType = spyi_vk_view_type(desc);
    info.format = spyi_vk_format(desc->format);
    info.subresourceRange.aspectMask = spyi_vk_aspects(desc->format);
    if (!desc->target) info.subresourceRange.aspectMask &= ~(VkImageAspectFlags)VK_IMAGE_ASPECT_STENCIL_BIT;
    info.subresourceRange.baseMipLevel = desc->first_level;
    info.subresourceRange.levelCount = desc->level_count;
    info.subresourceRange.baseArrayLayer = desc->first_layer;
    info.subresourceRange.layerCount = desc->layer_count;
    VkResult result = gpu->vk.vkCreateImageView(gpu->device, &info, NULL, &handle);
    *view = (uint64_t)handle;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateImageView", error);
}

SPYI_FN void spyi_vk_destroy_image_view(spyi_gpu *base, uint64_t view, bool stored) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    (void)stored;
    spyi_vk_forget_view(gpu, (VkImageView)view);
    gpu->vk.vkDestroyImageView(gpu->device, (VkImageView)view, NULL);
}

// >>samplers

static VkSamplerAddressMode spyi_vk_address_mode(spy_address_mode mode) {
    switch (mode) {
    case SPY_ADDRESS_MODE_MIRROR: return VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT;
    case SPY_ADDRESS_MODE_CLAMP: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    case SPY_ADDRESS_MODE_BORDER: return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    case SPY_ADDRESS_MODE_MIRROR_ONCE: return VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE;
    default: return VK_SAMPLER_ADDRESS_MODE_REPEAT;
    }
}

static VkBorderColor spyi_vk_border(const float *color) {
    if (color[0] + color[1] + color[2] >= 1.5f) return VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    return color[3] >= 0.5f ? VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
}

static bool spyi_vk_any_address(const spy_sampler_desc *d, spy_address_mode mode) {
    return d->address_u == mode || d->address_v == mode || d->address_w == mode;
}

static spy_status spyi_vk_check_sampler(const spyi_vk_gpu *gpu, const spy_sampler_desc *d, spyi_text *error) {
    const bool *has = gpu->adapter.features;
    const char *lacks = NULL;
    if (d->max_anisotropy > 1 && !has[SPYI_VK_FEATURE_samplerAnisotropy]) lacks = "samplerAnisotropy";
    if (d->reduction > SPY_REDUCTION_AVERAGE && !has[SPYI_VK_FEATURE_samplerFilterMinmax])
        lacks = "samplerFilterMinmax";
    if (spyi_vk_any_address(d, SPY_ADDRESS_MODE_MIRROR_ONCE) &&
        !has[SPYI_VK_FEATURE_samplerMirrorClampToEdge])
        lacks = "samplerMirrorClampToEdge";
    if (!lacks) return SPY_OK;
    spyi_text_add(error, "the device '%s' has no such sampler (Vulkan feature %s)", gpu->adapter.info.name,
                  lacks);
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN spy_status spyi_vk_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                          spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const float most = gpu->adapter.limits.maxSamplerAnisotropy, bias = gpu->adapter.limits.maxSamplerLodBias;
    VkSamplerReductionModeCreateInfo reduction;
    VkSamplerCreateInfo info;
    VkSampler handle = VK_NULL_HANDLE;
    spy_status status = spyi_vk_check_sampler(gpu, desc, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(info);
    SPYI_VK_ZERO(reduction);
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    if (desc->reduction > SPY_REDUCTION_AVERAGE) {
        reduction.sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO;
        reduction.reductionMode = desc->reduction == SPY_REDUCTION_MIN ? VK_SAMPLER_REDUCTION_MODE_MIN
                                                                       : VK_SAMPLER_REDUCTION_MODE_MAX;
        info.pNext = &reduction;
    }
    info.minFilter = desc->min_filter == SPY_FILTER_NEAREST ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    info.magFilter = desc->mag_filter == SPY_FILTER_NEAREST ? VK_FILTER_NEAREST : VK_FILTER_LINEAR;
    info.mipmapMode = desc->mip_filter == SPY_FILTER_NEAREST ? VK_SAMPLER_MIPMAP_MODE_NEAREST
                                                             : VK_SAMPLER_MIPMAP_MODE_LINEAR;
    info.addressModeU = spyi_vk_address_mode(desc->address_u);
    info.addressModeV = spyi_vk_address_mode(desc->address_v);
    info.addressModeW = spyi_vk_address_mode(desc->address_w);
    info.mipLodBias = desc->mip_bias > bias ? bias : desc->mip_bias < -bias ? -bias : desc->mip_bias;
    info.anisotropyEnable = desc->max_anisotropy > 1;
    info.maxAnisotropy = (float)desc->max_anisotropy > most ? most : (float)desc->max_anisotropy;
    info.compareEnable = desc->compare != SPY_COMPARE_NONE;
    // Both enums have the same order from NEVER on.
    info.compareOp =
        info.compareEnable ? (VkCompareOp)(desc->compare - SPY_COMPARE_NEVER) : VK_COMPARE_OP_NEVER;
    info.minLod = desc->min_level;
    info.maxLod = desc->max_level != 0 ? desc->max_level : VK_LOD_CLAMP_NONE;
    info.borderColor = spyi_vk_border(desc->border);
    VkResult result = gpu->vk.vkCreateSampler(gpu->device, &info, NULL, &handle);
    *sampler = (uint64_t)handle;
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateSampler", error);
}

SPYI_FN void spyi_vk_destroy_sampler(spyi_gpu *base, uint64_t sampler) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    gpu->vk.vkDestroySampler(gpu->device, (VkSampler)sampler, NULL);
}
