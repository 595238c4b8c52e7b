// Records draws. Draws into the same targets that follow each other become one pass: the first one begins it, and
// whatever cannot be part of it ends it, through spyi_vk_begin() or spyi_vk_end_pass(): other work, a barrier, a clear,
// other targets, a submission, the return to an engine.
#include "vk/internal.h"

static bool spyi_vk_draws_anything(const spyi_draw_work *d) {
    return d->indirect.handle ? d->indirect_count > 0 : d->count > 0 && d->instance_count > 0;
}

// >>passes

SPYI_FN void spyi_vk_end_pass(spyi_vk_gpu *gpu) {
    spyi_vk_pass *pass = &gpu->pass;
    if (SPYI_LIKELY(pass->commands == VK_NULL_HANDLE)) return;
    if (gpu->dynamic_rendering) gpu->vk.vkCmdEndRendering(pass->commands);
    else gpu->vk.vkCmdEndRenderPass(pass->commands);
    gpu->commands = pass->commands;
    pass->commands = VK_NULL_HANDLE;
}

// Returns whether a draw can go on in the open pass.
static bool spyi_vk_continues(const spyi_vk_pass *pass, const spyi_draw_work *d) {
    if (pass->commands == VK_NULL_HANDLE || d->work.before.barrier || d->work.before.transition_count > 0 ||
        pass->target_count != d->target_count || pass->width != d->width || pass->height != d->height ||
        pass->layers != d->layers || pass->depth != d->depth.view ||
        (d->depth.view && (d->depth.clear || d->depth.clear_stencil)))
        return false;
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (pass->views[i] != t->view || pass->resolves[i] != t->resolve || (t->view && t->clear))
            return false;
    }
    return true;
}

static void spyi_vk_note_pass(spyi_vk_pass *pass, const spyi_draw_work *d) {
    for (uint32_t i = 0; i < d->target_count; i++) {
        pass->views[i] = d->targets[i].view;
        pass->resolves[i] = d->targets[i].resolve;
    }
    pass->depth = d->depth.view;
    pass->target_count = d->target_count;
    pass->width = d->width;
    pass->height = d->height;
    pass->layers = d->layers;
}

static bool spyi_vk_was_written(const spyi_vk_gpu *gpu, uint64_t image) {
    for (uint32_t i = 0; i < gpu->written_count; i++)
        if (gpu->written[i] == image) return true;
    return false;
}

// Returns whether earlier passes may have drawn into targets of the draw's pass. Passes into other targets need not
// wait for each other: a GPU is idle for a while in such a wait.
static bool spyi_vk_must_wait(const spyi_vk_gpu *gpu, const spyi_draw_work *d) {
    // In an engine's recording the answer is always yes, because the engine may execute it after batches that
    // were recorded later.
    if (gpu->external != VK_NULL_HANDLE || gpu->written_count == SPYI_VK_WRITTEN) return true;
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        if (t->view && (t->resolve || spyi_vk_was_written(gpu, t->image))) return true;
    }
    return d->depth.view && spyi_vk_was_written(gpu, d->depth.image);
}

static void spyi_vk_note_written(spyi_vk_gpu *gpu, const spyi_draw_target *t) {
    if (t->view && gpu->written_count < SPYI_VK_WRITTEN) gpu->written[gpu->written_count++] = t->image;
    if (t->view && t->resolve)
        gpu->written_count = SPYI_VK_WRITTEN; // the resolve view's image is not known, so that the next pass
                                              // waits in any case
}

// Orders a pass after earlier passes that wrote to its targets, whose layout stays. All other order between a target
// and other work comes with a transition, which spyi_vk_before() records: into this layout before the pass, and out of
// it after the pass, each with the stages and accesses of targets.
static void spyi_vk_target_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                        VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                        VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask =
        VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    barrier.dstAccessMask = barrier.srcAccessMask | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT |
                            VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// Integer samples are not averaged, so that sample 0 is taken.
static VkResolveModeFlagBits spyi_vk_resolve_mode(uint32_t format) {
    return spyi_format(format)->is_integer ? VK_RESOLVE_MODE_SAMPLE_ZERO_BIT : VK_RESOLVE_MODE_AVERAGE_BIT;
}

static void spyi_vk_begin_rendering(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_vk_raster *raster,
                                    const spyi_draw_work *d) {
    VkRenderingAttachmentInfo targets[SPYI_MOST_TARGETS], depth, stencil;
    VkRenderingInfo info;
    memset(targets, 0, d->target_count * sizeof *targets);
    for (uint32_t i = 0; i < d->target_count; i++) {
        const spyi_draw_target *t = &d->targets[i];
        VkRenderingAttachmentInfo *a = &targets[i];
        a->sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
        if (t->view == 0) continue;
        a->imageView = (VkImageView)t->view;
        a->imageLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, raster->target_formats[i]);
        a->loadOp = spyi_vk_load_op(t->clear, t->ignore);
        a->storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        memcpy(&a->clearValue.color, &t->color, sizeof a->clearValue.color);
        if (t->resolve == 0) continue;
        a->resolveMode = spyi_vk_resolve_mode(raster->target_formats[i]);
        a->resolveImageView = (VkImageView)t->resolve;
        a->resolveImageLayout = a->imageLayout;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
    info.renderArea.extent.width = d->width;
    info.renderArea.extent.height = d->height;
    info.layerCount = d->layers;
    info.colorAttachmentCount = d->target_count;
    info.pColorAttachments = targets;
    if (d->depth.view) {
        SPYI_VK_ZERO(depth);
        depth.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
        depth.imageView = (VkImageView)d->depth.view;
        depth.imageLayout = spyi_vk_image_layout(SPYI_USE_ATTACHMENT, raster->depth_format);
        depth.loadOp = spyi_vk_load_op(d->depth.clear, d->depth.ignore);
        depth.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
        depth.clearValue.depthStencil.depth = d->depth.depth;
        depth.clearValue.depthStencil.stencil = d->depth.stencil;
        stencil = depth;
        stencil.loadOp = spyi_vk_load_op(d->depth.clear_stencil, d->depth.ignore_stencil);
        info.pDepthAttachment = &depth;
        if (spyi_vk_aspects(raster->depth_format) & VK_IMAGE_ASPECT_STENCIL_BIT)
            info.pStencilAttachment = &stencil;
    }
    gpu->vk.vkCmdBeginRendering(commands, &info);
}

// Returns whether the indices of a draw have to be copied. lavapipe of Mesa 22 forgets the offset of an index buffer in
// indirect draws, and reads the indices from the buffer's first byte on.
static bool spyi_vk_copies_indices(const spyi_vk_gpu *gpu, const spyi_draw_work *d) {
    return d->indirect.handle && d->indices.handle && d->indices.offset > 0 && spyi_vk_draws_anything(d) &&
           gpu->adapter.info.type == SPY_ADAPTER_TYPE_CPU;
}

// Copies the indices to the first byte of a page, which `copy` becomes.
static spy_status spyi_vk_copy_indices(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d,
                                       spyi_draw_buffer *copy, spyi_text *error) {
    VkBufferCopy region;
    spyi_vk_page *page;
    size_t at;
    spy_status status;
    if (d->indices_size > SIZE_MAX / 2) {
        spyi_text_add(error, "no host memory for the indices of an indirect draw");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    // Only the first byte of a page is a multiple of that much.
    status = spyi_vk_take_bytes(gpu, (size_t)d->indices_size, (size_t)1 << 30, &page, &at, error);
    if (status != SPY_OK) return status;
    region.srcOffset = d->indices.offset;
    region.dstOffset = at;
    region.size = d->indices_size;
    if (region.size > 0)
        gpu->vk.vkCmdCopyBuffer(commands, (VkBuffer)d->indices.handle, (VkBuffer)page->chunk.handle, 1,
                                &region);
    spyi_vk_barrier(gpu, commands, true);
    copy->handle = page->chunk.handle;
    copy->offset = at;
    return SPY_OK;
}

// Begins a pass. `copy` becomes a copy of the draw's indices; NULL means that the draw needs none.
static spy_status spyi_vk_begin_pass(spyi_vk_gpu *gpu, const spyi_vk_raster *raster, const spyi_draw_work *d,
                                     spyi_draw_buffer *copy, spyi_text *error) {
    VkCommandBuffer commands;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    commands = gpu->commands;
    // Barriers before the first draw did not cover the stages of draws, so one more barrier must. (A
    // recording of an engine may be executed later than the next batch, which needs its own.)
    spyi_before before = d->work.before;
    bool *ordered = gpu->external != VK_NULL_HANDLE ? &gpu->draws : &gpu->own_draws;
    if (!*ordered) before.barrier = true;
    *ordered = gpu->draws = true;
    spyi_vk_before(gpu, commands, &before, d->indirect.handle != 0);
    if (copy != NULL) {
        status = spyi_vk_copy_indices(gpu, commands, d, copy, error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &d->work.before, status);
    }
    if (spyi_vk_must_wait(gpu, d)) {
        spyi_vk_target_barrier(gpu, commands);
        if (gpu->external == VK_NULL_HANDLE) gpu->written_count = 0;
    }
    for (uint32_t i = 0; i < d->target_count; i++) spyi_vk_note_written(gpu, &d->targets[i]);
    spyi_vk_note_written(gpu, &d->depth);
    if (gpu->dynamic_rendering) {
        spyi_vk_begin_rendering(gpu, commands, raster, d);
    } else {
        status = spyi_vk_begin_render_pass(gpu, commands, raster, d, error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &d->work.before, status);
    }
    spyi_vk_note_pass(&gpu->pass, d);
    gpu->pass.commands = commands;
    gpu->commands = VK_NULL_HANDLE;
    gpu->base.stats.passes++;
    return SPY_OK;
}

// >>draws

// Sets the scissor, whose offset Vulkan does not allow to be negative.
static void spyi_vk_set_scissor(spyi_vk_gpu *gpu, VkCommandBuffer commands, const int32_t *scissor) {
    VkRect2D rect;
    int64_t end[2];
    for (int i = 0; i < 2; i++) {
        end[i] = (int64_t)scissor[i] + scissor[2 + i];
        if (end[i] < 0) end[i] = 0;
    }
    rect.offset.x = scissor[0] > 0 ? scissor[0] : 0;
    rect.offset.y = scissor[1] > 0 ? scissor[1] : 0;
    rect.extent.width = end[0] > rect.offset.x ? (uint32_t)(end[0] - rect.offset.x) : 0;
    rect.extent.height = end[1] > rect.offset.y ? (uint32_t)(end[1] - rect.offset.y) : 0;
    gpu->vk.vkCmdSetScissor(commands, 0, 1, &rect);
}

// Compares `count` words of 8 bytes. gcc calls the library's memcmp() for more than one.
static inline bool spyi_vk_differs(const void *a, const void *b, uint32_t count) {
    uint64_t x[3], y[3], differs = 0;
    memcpy(x, a, count * sizeof *x);
    memcpy(y, b, count * sizeof *y);
    for (uint32_t i = 0; i < count; i++) differs |= x[i] ^ y[i];
    return differs != 0;
}

// Binds the pipeline and sets what differs from the command buffer's last draw. Viewport and scissor stay from
// pipeline to pipeline, because every pipeline takes them from the command buffer.
static void spyi_vk_set_state(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_vk_raster *raster,
                              const spyi_draw_work *d) {
    spyi_vk_pass *pass = &gpu->pass;
    const bool all = pass->bound == NULL, other = pass->bound != raster;
    if (other) {
        gpu->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, raster->kernel.pipeline);
        pass->bound = raster;
        pass->pushed = false;
    }
    if (all) {
        pass->buffer_count = 0;
        pass->indices.handle = 0;
    }
    if (all || spyi_vk_differs(pass->viewport, d->viewport, 3)) {
        VkViewport viewport; // has a negative height, because y = 1 of Vulkan's clip space is at the lower
                             // edge
        memcpy(pass->viewport, d->viewport, sizeof pass->viewport);
        viewport.x = d->viewport[0];
        viewport.y = d->viewport[1] + d->viewport[3];
        viewport.width = d->viewport[2];
        viewport.height = -d->viewport[3];
        viewport.minDepth = d->viewport[4];
        viewport.maxDepth = d->viewport[5];
        gpu->vk.vkCmdSetViewport(commands, 0, 1, &viewport);
    }
    if (all || spyi_vk_differs(pass->scissor, d->scissor, 2)) {
        memcpy(pass->scissor, d->scissor, sizeof pass->scissor);
        spyi_vk_set_scissor(gpu, commands, d->scissor);
    }
    if (raster->blend_color && (other || spyi_vk_differs(pass->blend_color, d->blend_color, 2))) {
        memcpy(pass->blend_color, d->blend_color, sizeof pass->blend_color);
        gpu->vk.vkCmdSetBlendConstants(commands, d->blend_color);
    }
    if (raster->stencil_reference && (other || pass->stencil_reference != d->stencil_reference)) {
        pass->stencil_reference = d->stencil_reference;
        gpu->vk.vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_AND_BACK, d->stencil_reference);
    }
}

static bool spyi_vk_same_buffers(const spyi_draw_buffer *a, const spyi_draw_buffer *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i].handle != b[i].handle || a[i].offset != b[i].offset) return false;
    return true;
}

static void spyi_vk_bind_buffers(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d) {
    spyi_vk_pass *pass = &gpu->pass;
    VkBuffer buffers[SPYI_MOST_ATTRIBUTES];
    VkDeviceSize offsets[SPYI_MOST_ATTRIBUTES];
    if (pass->buffer_count >= d->buffer_count &&
        spyi_vk_same_buffers(pass->buffers, d->buffers, d->buffer_count))
        return;
    for (uint32_t i = 0; i < d->buffer_count; i++) {
        buffers[i] = (VkBuffer)d->buffers[i].handle;
        offsets[i] = d->buffers[i].offset;
        pass->buffers[i] = d->buffers[i];
    }
    pass->buffer_count = d->buffer_count; // those behind them stay bound, but need not be known
    gpu->vk.vkCmdBindVertexBuffers(commands, 0, d->buffer_count, buffers, offsets);
}

static void spyi_vk_bind_indices(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d,
                                 const spyi_draw_buffer *indices) {
    spyi_vk_pass *pass = &gpu->pass;
    if (pass->short_indices == d->short_indices && spyi_vk_same_buffers(&pass->indices, indices, 1)) return;
    pass->short_indices = d->short_indices;
    pass->indices = *indices;
    gpu->vk.vkCmdBindIndexBuffer(commands, (VkBuffer)indices->handle, indices->offset,
                                 d->short_indices ? VK_INDEX_TYPE_UINT16 : VK_INDEX_TYPE_UINT32);
}

// Returns whether the draw's bindings are those of the last draw with its pipeline, which stay pushed, and notes them
// if not. Uniform buffers get new bytes for each draw.
static bool spyi_vk_repeats_bindings(spyi_vk_pass *pass, const spyi_vk_kernel *kernel,
                                     const spyi_binding *bindings) {
    const size_t size = kernel->base.binding_count * sizeof *bindings;
    if (size == 0 || (pass->pushed && memcmp(pass->bindings, bindings, size) == 0)) return true;
    memcpy(pass->bindings, bindings, size);
    pass->pushed = true;
    return false;
}

static void spyi_vk_draw_indirect(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_draw_work *d) {
    const bool many = gpu->adapter.features[SPYI_VK_FEATURE_multiDrawIndirect];
    const uint32_t most = many ? gpu->adapter.limits.maxDrawIndirectCount : 1;
    const uint32_t stride =
        d->indices.handle ? sizeof(VkDrawIndexedIndirectCommand) : sizeof(VkDrawIndirectCommand);
    for (uint32_t done = 0, count; done < d->indirect_count; done += count) {
        const VkDeviceSize at = d->indirect.offset + (VkDeviceSize)done * stride;
        count = d->indirect_count - done < most ? d->indirect_count - done : most;
        if (d->indices.handle)
            gpu->vk.vkCmdDrawIndexedIndirect(commands, (VkBuffer)d->indirect.handle, at, count, stride);
        else gpu->vk.vkCmdDrawIndirect(commands, (VkBuffer)d->indirect.handle, at, count, stride);
    }
}

SPYI_FN spy_status spyi_vk_draw(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_draw_work *d = (const spyi_draw_work *)(const void *)work;
    spyi_vk_raster *raster = (spyi_vk_raster *)(void *)d->kernel;
    spyi_vk_pass *pass = &gpu->pass;
    const bool copies = spyi_vk_copies_indices(gpu, d);
    spyi_draw_buffer indices = d->indices;
    spy_status status;
    if (copies || !spyi_vk_continues(pass, d)) {
        status = spyi_vk_begin_pass(gpu, raster, d, copies ? &indices : NULL, error);
        if (status != SPY_OK) return status;
    }
    if (spyi_vk_draws_anything(d)) {
        VkCommandBuffer commands = pass->commands;
        spyi_vk_set_state(gpu, commands, raster, d);
        status = spyi_vk_push_inputs(
            gpu, commands, &raster->kernel, d->block,
            spyi_vk_repeats_bindings(pass, &raster->kernel, d->bindings) ? NULL : d->bindings, d->uniforms,
            error);
        if (status != SPY_OK) return spyi_vk_failed(gpu, &work->before, status);
        if (d->buffer_count > 0) spyi_vk_bind_buffers(gpu, commands, d);
        if (indices.handle) spyi_vk_bind_indices(gpu, commands, d, &indices);
        if (d->indirect.handle) spyi_vk_draw_indirect(gpu, commands, d);
        else if (d->indices.handle)
            gpu->vk.vkCmdDrawIndexed(commands, d->count, d->instance_count, d->first, d->first_vertex,
                                     d->first_instance);
        else gpu->vk.vkCmdDraw(commands, d->count, d->instance_count, d->first, d->first_instance);
    }
    gpu->base.stats.draws++;
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_vk_batch *batch = gpu->batch;
        batch->recent[batch->recent_count++ % SPYI_VK_RECENT] = d->kernel;
    }
    // Not urgent: a submission would end the pass. (Nor may the next pass submit when it begins: its resources are noted
    // for the open batch already.)
    return spyi_vk_recorded(gpu, false, error);
}
