// Passes of draws on devices without dynamic rendering (Vulkan 1.2, or an engine's device that has not
// enabled it): a VkRenderPass for each combination of formats and loads, and a VkFramebuffer for each
// combination of views. Both are kept: there are few render passes, and framebuffers live as long as their
// views.
#include "vk/internal.h"

enum { SPYI_VK_PASS_PARTS = 2 * SPYI_MOST_TARGETS + 1 }; // the number of targets, their resolves, and depth

// The key of a pass, which is plain bytes without padding, so that equal passes have equal bytes. All passes
// with the same formats and samples are compatible, so that a pipeline needs only one of them.
typedef struct spyi_vk_pass_key {
    uint8_t formats[SPYI_MOST_TARGETS], loads[SPYI_MOST_TARGETS]; // `formats` are spy_format, `loads` are
                                                                  // VkAttachmentLoadOp
    uint8_t depth_format, depth_load, stencil_load;
    uint8_t count, samples, resolves; // bit i of `resolves` says that target i is resolved
} spyi_vk_pass_key;

struct spyi_vk_render_pass {
    spyi_vk_render_pass *next;
    spyi_vk_pass_key key;
    VkRenderPass handle;
};

struct spyi_vk_framebuffer {
    spyi_vk_framebuffer *next;
    VkRenderPass pass;
    VkImageView views[SPYI_VK_PASS_PARTS];
    uint32_t view_count, width, height, layers;
    VkFramebuffer handle;
};

SPYI_FN VkAttachmentLoadOp spyi_vk_load_op(bool clear, bool ignore) {
    return clear    ? VK_ATTACHMENT_LOAD_OP_CLEAR
           : ignore ? VK_ATTACHMENT_LOAD_OP_DONT_CARE
                    : VK_ATTACHMENT_LOAD_OP_LOAD;
}

static spyi_vk_pass_key spyi_vk_make_key(const spyi_vk_raster *raster, const spyi_draw_work *d) {
    spyi_vk_pass_key key;
    SPYI_VK_ZERO(key);
    memcpy(key.formats, raster->target_formats, sizeof key.formats);
    key.depth_format = raster->depth_format;
    key.count = raster->target_count;
    key.samples = raster->samples;
    if (d == NULL) return key;
    for (uint32_t i = 0; i < d->target_count; i++) {
        if (d->targets[i].view == 0) continue;
        key.loads[i] = (uint8_t)spyi_vk_load_op(d->targets[i].clear, d->targets[i].ignore);
        if (d->targets[i].resolve) key.resolves = (uint8_t)(key.resolves | 1u << i);
    }
    if (d->depth.view == 0) return key;
    key.depth_load = (uint8_t)spyi_vk_load_op(d->depth.clear, d->depth.ignore);
    key.stencil_load = (uint8_t)spyi_vk_load_op(d->depth.clear_stencil, d->depth.ignore_stencil);
    return key;
}

static uint32_t spyi_vk_add_part(VkAttachmentDescription *part, uint32_t format, uint32_t samples,
                                 uint32_t load) {
    SPYI_VK_ZERO(*part);
    part->format = spyi_vk_format(format);
    part->samples = (VkSampleCountFlagBits)samples;
    part->loadOp = (VkAttachmentLoadOp)load;
    part->storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    part->stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    part->stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE;
    // The layouts do not change in the pass, because transitions come from the uses of the images.
    part->initialLayout = part->finalLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, format);
    return 1;
}

static VkResult spyi_vk_make_render_pass(spyi_vk_gpu *gpu, const spyi_vk_pass_key *key, VkRenderPass *pass) {
    VkAttachmentDescription parts[SPYI_VK_PASS_PARTS];
    VkAttachmentReference colors[SPYI_MOST_TARGETS], resolves[SPYI_MOST_TARGETS], depth;
    VkSubpassDescription subpass;
    VkRenderPassCreateInfo info;
    uint32_t i, count = 0;
    for (i = 0; i < key->count; i++) {
        colors[i].attachment = resolves[i].attachment = VK_ATTACHMENT_UNUSED;
        colors[i].layout = resolves[i].layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
        if (key->formats[i] == SPY_FORMAT_NONE) continue;
        colors[i].attachment = count;
        count += spyi_vk_add_part(&parts[count], key->formats[i], key->samples, key->loads[i]);
        if (!(key->resolves >> i & 1u)) continue;
        resolves[i].attachment = count;
        count += spyi_vk_add_part(&parts[count], key->formats[i], 1, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    }
    depth.attachment = count;
    depth.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    if (key->depth_format != SPY_FORMAT_NONE) {
        count += spyi_vk_add_part(&parts[count], key->depth_format, key->samples, key->depth_load);
        parts[depth.attachment].stencilLoadOp = (VkAttachmentLoadOp)key->stencil_load;
    }
    SPYI_VK_ZERO(subpass);
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    subpass.colorAttachmentCount = key->count;
    subpass.pColorAttachments = colors;
    subpass.pResolveAttachments = key->resolves ? resolves : NULL;
    subpass.pDepthStencilAttachment = key->depth_format != SPY_FORMAT_NONE ? &depth : NULL;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    info.attachmentCount = count;
    info.pAttachments = parts;
    info.subpassCount = 1;
    info.pSubpasses = &subpass;
    return gpu->vk.vkCreateRenderPass(gpu->device, &info, NULL, pass);
}

// Finds or makes a render pass. Threads that load pipelines call this, too.
SPYI_FN VkResult spyi_vk_find_render_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster,
                                          const spyi_draw_work *draw, VkRenderPass *pass) {
    const spyi_vk_pass_key key = spyi_vk_make_key(raster, draw);
    VkResult result = VK_SUCCESS;
    spyi_mutex_lock(&gpu->layout_lock);
    spyi_vk_render_pass *found = gpu->render_passes;
    while (found != NULL && memcmp(&found->key, &key, sizeof key) != 0) found = found->next;
    if (found == NULL) {
        found = (spyi_vk_render_pass *)spyi_allocate(gpu->base.ctx, sizeof *found);
        result =
            found != NULL ? spyi_vk_make_render_pass(gpu, &key, &found->handle) : VK_ERROR_OUT_OF_HOST_MEMORY;
        if (result == VK_SUCCESS) {
            found->key = key;
            found->next = gpu->render_passes;
            gpu->render_passes = found;
        } else {
            spyi_free(gpu->base.ctx, found, sizeof *found);
        }
    }
    *pass = result == VK_SUCCESS ? found->handle : VK_NULL_HANDLE;
    spyi_mutex_unlock(&gpu->layout_lock);
    return result;
}

// >>framebuffers

// Fills views and sizes, in the order of the pass's parts.
static void spyi_vk_list_views(const spyi_draw_work *d, VkRenderPass pass, spyi_vk_framebuffer *f) {
    SPYI_VK_ZERO(*f);
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (t->view == 0) continue;
        f->views[f->view_count++] = (VkImageView)t->view;
        if (t->resolve) f->views[f->view_count++] = (VkImageView)t->resolve;
    }
    if (d->depth.view) f->views[f->view_count++] = (VkImageView)d->depth.view;
    f->pass = pass;
    f->width = d->width;
    f->height = d->height;
    f->layers = d->layers;
}

static bool spyi_vk_same_framebuffer(const spyi_vk_framebuffer *a, const spyi_vk_framebuffer *b) {
    return a->pass == b->pass && a->view_count == b->view_count && a->width == b->width &&
           a->height == b->height && a->layers == b->layers &&
           memcmp(a->views, b->views, a->view_count * sizeof *a->views) == 0;
}

static VkResult spyi_vk_find_framebuffer(spyi_vk_gpu *gpu, const spyi_draw_work *d, VkRenderPass pass,
                                         VkFramebuffer *out) {
    spyi_vk_framebuffer wanted, *found = gpu->framebuffers;
    VkFramebufferCreateInfo info;
    spyi_vk_list_views(d, pass, &wanted);
    while (found != NULL && !spyi_vk_same_framebuffer(found, &wanted)) found = found->next;
    if (found == NULL) {
        found = (spyi_vk_framebuffer *)spyi_allocate(gpu->base.ctx, sizeof *found);
        if (found == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
        *found = wanted;
        SPYI_VK_ZERO(info);
        info.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO;
        info.renderPass = pass;
        info.attachmentCount = found->view_count;
        info.pAttachments = found->views;
        info.width = found->width;
        info.height = found->height;
        info.layers = found->layers;
        VkResult result = gpu->vk.vkCreateFramebuffer(gpu->device, &info, NULL, &found->handle);
        if (result != VK_SUCCESS) {
            spyi_free(gpu->base.ctx, found, sizeof *found);
            return result;
        }
        found->next = gpu->framebuffers;
        gpu->framebuffers = found;
    }
    *out = found->handle;
    return VK_SUCCESS;
}

SPYI_FN spy_status spyi_vk_begin_render_pass(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                             const spyi_vk_raster *raster, const spyi_draw_work *d,
                                             spyi_text *error) {
    VkClearValue clears[SPYI_VK_PASS_PARTS];
    VkRenderPassBeginInfo info;
    VkResult result;
    SPYI_VK_ZERO(info);
    result = spyi_vk_find_render_pass(gpu, raster, d, &info.renderPass);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateRenderPass", error);
    result = spyi_vk_find_framebuffer(gpu, d, info.renderPass, &info.framebuffer);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateFramebuffer", error);
    memset(clears, 0, sizeof clears);
    for (uint32_t i = 0; i < d->target_count; i++) {
        if (d->targets[i].view == 0) continue;
        memcpy(&clears[info.clearValueCount++].color, &d->targets[i].color, sizeof clears[0].color);
        if (d->targets[i].resolve) info.clearValueCount++;
    }
    if (d->depth.view) {
        clears[info.clearValueCount].depthStencil.depth = d->depth.depth;
        clears[info.clearValueCount++].depthStencil.stencil = d->depth.stencil;
    }
    info.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO;
    info.renderArea.extent.width = d->width;
    info.renderArea.extent.height = d->height;
    info.pClearValues = clears;
    gpu->vk.vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
    return SPY_OK;
}

// Destroys the framebuffers of a view. No work uses the view any more, and so none uses its framebuffers.
SPYI_FN void spyi_vk_forget_view(spyi_vk_gpu *gpu, VkImageView view) {
    spyi_vk_framebuffer **link = &gpu->framebuffers;
    while (*link != NULL) {
        spyi_vk_framebuffer *f = *link;
        bool has = false;
        for (uint32_t i = 0; i < f->view_count && !has; i++) has = f->views[i] == view;
        if (!has) {
            link = &f->next;
            continue;
        }
        *link = f->next;
        gpu->vk.vkDestroyFramebuffer(gpu->device, f->handle, NULL);
        spyi_free(gpu->base.ctx, f, sizeof *f);
    }
}

SPYI_FN void spyi_vk_destroy_render_passes(spyi_vk_gpu *gpu) {
    while (gpu->framebuffers != NULL) {
        spyi_vk_framebuffer *f = gpu->framebuffers;
        gpu->framebuffers = f->next;
        gpu->vk.vkDestroyFramebuffer(gpu->device, f->handle, NULL);
        spyi_free(gpu->base.ctx, f, sizeof *f);
    }
    while (gpu->render_passes != NULL) {
        spyi_vk_render_pass *pass = gpu->render_passes;
        gpu->render_passes = pass->next;
        gpu->vk.vkDestroyRenderPass(gpu->device, pass->handle, NULL);
        spyi_free(gpu->base.ctx, pass, sizeof *pass);
    }
}
