// Records the work on images: copies from and to buffers, copies between images, blits, resolves and clears.
#include "vk/internal.h"

static spy_status spyi_vk_begin_image_work(spyi_vk_gpu *gpu, const spyi_work *work, spyi_text *error) {
    spyi_before transitions = work->before;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    transitions.barrier = false;
    spyi_vk_before(gpu, gpu->commands, &transitions, false);
    return SPY_OK;
}

static VkImageSubresourceLayers spyi_vk_box_layers(const spyi_image_box *box, uint32_t format) {
    VkImageSubresourceLayers layers;
    layers.aspectMask = spyi_vk_aspects(format);
    layers.mipLevel = box->level;
    layers.baseArrayLayer = box->first_layer;
    layers.layerCount = box->layer_count;
    return layers;
}

static VkOffset3D spyi_vk_box_begin(const spyi_image_box *box) {
    VkOffset3D at;
    at.x = (int32_t)box->x;
    at.y = (int32_t)box->y;
    at.z = (int32_t)box->z;
    return at;
}

static VkOffset3D spyi_vk_box_end(const spyi_image_box *box) {
    VkOffset3D at;
    at.x = (int32_t)(box->x + box->width);
    at.y = (int32_t)(box->y + box->height);
    at.z = (int32_t)(box->z + box->depth);
    return at;
}

static VkExtent3D spyi_vk_box_size(const spyi_image_box *box) {
    VkExtent3D size;
    size.width = box->width;
    size.height = box->height;
    size.depth = box->depth;
    return size;
}

SPYI_FN spy_status spyi_vk_image_bytes(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    const spy_format_info *format = spyi_format(w->desc.format);
    VkBufferImageCopy region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(region);
    region.bufferOffset = w->offset;
    region.bufferRowLength = (uint32_t)(w->row_pitch / format->block_bytes) * format->block_width;
    region.bufferImageHeight = (uint32_t)(w->slice_pitch / w->row_pitch) * format->block_height;
    region.imageSubresource = spyi_vk_box_layers(&w->box, w->desc.format);
    region.imageOffset = spyi_vk_box_begin(&w->box);
    region.imageExtent = spyi_vk_box_size(&w->box);
    if (w->to_image)
        gpu->vk.vkCmdCopyBufferToImage(gpu->commands, (VkBuffer)w->chunk->handle, (VkImage)w->image,
                                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    else
        gpu->vk.vkCmdCopyImageToBuffer(gpu->commands, (VkImage)w->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                       (VkBuffer)w->chunk->handle, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)work;
    const bool within = spyi_image_copies_within(w);
    VkImageCopy region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffset = spyi_vk_box_begin(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffset = spyi_vk_box_begin(&w->to_box);
    region.extent = spyi_vk_box_size(&w->from_box);
    gpu->vk.vkCmdCopyImage(
        gpu->commands, (VkImage)w->from,
        within ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, (VkImage)w->to,
        within ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

static spy_status spyi_vk_resolve(spyi_vk_gpu *gpu, const spyi_image_blit_work *w, spyi_text *error) {
    VkImageResolve region;
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffset = spyi_vk_box_begin(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffset = spyi_vk_box_begin(&w->to_box);
    region.extent = spyi_vk_box_size(&w->from_box);
    gpu->vk.vkCmdResolveImage(gpu->commands, (VkImage)w->from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                              (VkImage)w->to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_blit(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_blit_work *w = (const spyi_image_blit_work *)(const void *)work;
    VkImageBlit region;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    if (w->resolve) return spyi_vk_resolve(gpu, w, error);
    SPYI_VK_ZERO(region);
    region.srcSubresource = spyi_vk_box_layers(&w->from_box, w->from_desc.format);
    region.srcOffsets[0] = spyi_vk_box_begin(&w->from_box);
    region.srcOffsets[1] = spyi_vk_box_end(&w->from_box);
    region.dstSubresource = spyi_vk_box_layers(&w->to_box, w->to_desc.format);
    region.dstOffsets[0] = spyi_vk_box_begin(&w->to_box);
    region.dstOffsets[1] = spyi_vk_box_end(&w->to_box);
    gpu->vk.vkCmdBlitImage(gpu->commands, (VkImage)w->from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           (VkImage)w->to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region,
                           w->linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_image_clear(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)work;
    VkImageSubresourceRange range;
    spy_status status = spyi_vk_begin_image_work(gpu, work, error);
    if (status != SPY_OK) return status;
    range.aspectMask = spyi_vk_aspects(w->desc.format);
    range.baseMipLevel = w->first_level;
    range.levelCount = w->level_count;
    range.baseArrayLayer = w->first_layer;
    range.layerCount = w->layer_count;
    if (range.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT) {
        VkClearColorValue color;
        memcpy(&color, &w->color, sizeof color);
        gpu->vk.vkCmdClearColorImage(gpu->commands, (VkImage)w->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                     &color, 1, &range);
    } else {
        VkClearDepthStencilValue value;
        value.depth = w->depth;
        value.stencil = w->stencil;
        gpu->vk.vkCmdClearDepthStencilImage(gpu->commands, (VkImage)w->image,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &range);
    }
    return spyi_vk_recorded(gpu, false, error);
}
