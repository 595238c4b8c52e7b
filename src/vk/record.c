// Records dispatches, copies, fills and timestamps into the open command buffer, the library's or an
// engine's. spyi_vk_dispatch is the hot path: it allocates, locks and formats nothing.
#include "vk/internal.h"

#if defined(__GNUC__) || defined(__clang__)
#define SPYI_VK_COLD __attribute__((noinline, cold))
#define SPYI_VK_HOT inline __attribute__((always_inline))
#else
#define SPYI_VK_COLD
#define SPYI_VK_HOT
#endif

SPYI_FN VkPipelineStageFlags spyi_vk_stages(const spyi_vk_gpu *gpu) {
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkPipelineStageFlags draw = VK_PIPELINE_STAGE_VERTEX_INPUT_BIT |
                                      VK_PIPELINE_STAGE_VERTEX_SHADER_BIT |
                                      VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT;
    return gpu->draws ? work | draw : work;
}

// Records a barrier for kernels alone. After it transfers still need a barrier of their own.
static SPYI_VK_HOT void spyi_vk_kernel_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    gpu->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    gpu->base.stats.barriers++;
    gpu->transfers_wait = true;
}

// Records a barrier. Earlier work is the work in this command buffer and all work before it on the queue. The
// source stages include the reading of group counts, because that comes before a dispatch's shader.
SPYI_FN void spyi_vk_barrier(spyi_vk_gpu *gpu, VkCommandBuffer commands, bool counts) {
    const VkPipelineStageFlags stages = spyi_vk_stages(gpu);
    VkPipelineStageFlags after = stages;
    // A barrier in an engine's command buffer may be executed after the next batch, so the next batch cannot rely on it.
    gpu->transferred = gpu->transfers_wait = gpu->external != VK_NULL_HANDLE;
    VkMemoryBarrier barrier;
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.pNext = NULL;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    if (gpu->draws) barrier.dstAccessMask |= VK_ACCESS_INDEX_READ_BIT | VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT;
    if (counts) {
        after |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
        barrier.dstAccessMask |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    }
    gpu->vk.vkCmdPipelineBarrier(commands, stages, after, 0, 1, &barrier, 0, NULL, 0, NULL);
    gpu->base.stats.barriers++;
}

SPYI_FN void spyi_vk_before_transfer(spyi_vk_gpu *gpu, bool barrier) {
    if (barrier || gpu->transfers_wait) spyi_vk_barrier(gpu, gpu->commands, false);
    gpu->transferred = true;
}

// Adds the stages and accesses of a use of an image; the writes alone if `first`, as reads need no flush.
static void spyi_vk_add_access(uint32_t how, bool first, VkPipelineStageFlags *stages,
                               VkAccessFlags *access) {
    const bool reads = (how & SPYI_USE_READS) && !first, writes = (how & SPYI_USE_WRITES) || first;
    if (how & SPYI_USE_ATTACHMENT) {
        *stages |= VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                   VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
        *access |= VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
        if (!first)
            *access |= VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    } else if (how & SPYI_USE_COPIED) {
        if (reads) *access |= VK_ACCESS_TRANSFER_READ_BIT;
        if (writes) *access |= VK_ACCESS_TRANSFER_WRITE_BIT;
    } else if (how & SPYI_USE_STORED) { // later reads and writes need no further transition
        *access |= VK_ACCESS_SHADER_WRITE_BIT;
        if (!first) *access |= VK_ACCESS_SHADER_READ_BIT;
    } else if (how & SPYI_USE_SAMPLED) {
        if (!first) *access |= VK_ACCESS_SHADER_READ_BIT;
    }
}

#define SPYI_VK_TRANSITIONS 16u // the number of transitions in one vkCmdPipelineBarrier

static void spyi_vk_transit(spyi_vk_gpu *gpu, VkCommandBuffer commands, const spyi_before *before,
                            bool back) {
    const VkPipelineStageFlags stages = spyi_vk_stages(gpu);
    VkImageMemoryBarrier barriers[SPYI_VK_TRANSITIONS];
    uint32_t done, count, i;
    for (done = 0; done < before->transition_count; done += count) {
        VkPipelineStageFlags from = stages, to = stages;
        count = before->transition_count - done;
        if (count > SPYI_VK_TRANSITIONS) count = SPYI_VK_TRANSITIONS;
        memset(barriers, 0, count * sizeof *barriers);
        for (i = 0; i < count; i++) {
            const spyi_transition *t = &before->transitions[done + i];
            const uint32_t begin = back ? t->to : t->from, end = back && t->from ? t->from : t->to;
            VkImageMemoryBarrier *b = &barriers[i];
            b->sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
            spyi_vk_add_access(begin, true, &from, &b->srcAccessMask);
            spyi_vk_add_access(end, false, &to, &b->dstAccessMask);
            b->oldLayout = spyi_vk_image_layout(begin, t->format);
            b->newLayout = spyi_vk_image_layout(end, t->format);
            b->srcQueueFamilyIndex = b->dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
            b->image = (VkImage)t->texture;
            b->subresourceRange.aspectMask = spyi_vk_aspects(t->format);
            b->subresourceRange.baseMipLevel = t->level;
            b->subresourceRange.levelCount = 1;
            b->subresourceRange.baseArrayLayer = t->first_layer;
            b->subresourceRange.layerCount = t->layer_count;
        }
        gpu->vk.vkCmdPipelineBarrier(commands, from, to, 0, 0, NULL, 0, NULL, count, barriers);
    }
}

SPYI_FN SPYI_VK_COLD void spyi_vk_before(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                         const spyi_before *before, bool counts) {
    if (before->barrier) spyi_vk_barrier(gpu, commands, counts);
    spyi_vk_transit(gpu, commands, before, false);
}

// Takes the layouts back after a failure, because work that fails must not change them. A part without
// content keeps its new layout: the next transition begins with nothing, too.
SPYI_FN SPYI_VK_COLD spy_status spyi_vk_failed(spyi_vk_gpu *gpu, const spyi_before *before,
                                               spy_status status) {
    spyi_vk_end_pass(gpu);
    gpu->pass.bound = NULL; // the failed work may be freed
    if (before->transition_count) spyi_vk_transit(gpu, gpu->commands, before, true);
    return status;
}

// Begins the open batch in its slot, or, during a recording, takes the engine's command buffer. Ends an open pass.
SPYI_FN SPYI_VK_COLD spy_status spyi_vk_begin(spyi_vk_gpu *gpu, spyi_text *error) {
    spyi_vk_batch *batch;
    VkCommandBufferBeginInfo info;
    VkResult result;
    spy_status status;
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    spyi_vk_end_pass(gpu);
    if (gpu->commands != VK_NULL_HANDLE) return SPY_OK;
    gpu->pass.bound =
        NULL; // the next commands go to another command buffer, or the engine may have set its own state
    if (gpu->external != VK_NULL_HANDLE) {
        gpu->commands = gpu->external;
        gpu->bound = NULL;
        return SPY_OK;
    }
    status = spyi_vk_take_slot(gpu, &batch, error);
    if (status != SPY_OK) return status;
    result = gpu->vk.vkResetCommandPool(gpu->device, batch->pool, 0);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkResetCommandPool", error);
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    result = gpu->vk.vkBeginCommandBuffer(batch->commands, &info);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkBeginCommandBuffer", error);
    batch->number = gpu->base.open;
    batch->recent_count = 0;
    gpu->batch = batch;
    gpu->commands = batch->commands;
    gpu->bound = NULL;
    spyi_vk_open_labels(gpu);
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_recorded(spyi_vk_gpu *gpu, bool urgent, spyi_text *error) {
    spy_status status;
    uint64_t now, spent;
    if (gpu->external != VK_NULL_HANDLE) {
        spyi_vk_end_pass(gpu);
        gpu->commands = VK_NULL_HANDLE; // the engine may record between two calls: bind the pipeline again
        gpu->external_used = true;
        gpu->last_recording->used = true;
        return SPY_OK;
    }
    if (++gpu->work >= SPYI_VK_BATCH_WORK || gpu->work_bytes >= SPYI_VK_BATCH_BYTES) {
        return spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    }
    if (!urgent || gpu->timing) return SPY_OK; // timed work stays in one batch
    // Reading the clock costs as much as vkCmdPushConstants, so only every eighth operation reads it.
    if (gpu->next_poll_ns != 0 && (gpu->work & 7u) != 0) return SPY_OK;
    now = spyi_time_ns();
    if (now < gpu->next_poll_ns) return SPY_OK;
    gpu->next_poll_ns = now + SPYI_VK_POLL_NS;
    if (spyi_vk_poll(gpu) + 1 < gpu->base.open) return SPY_OK;
    status = spyi_vk_submit((spyi_gpu *)(void *)gpu, error);
    spent = (spyi_time_ns() - now) * SPYI_VK_IDLE_SHARE;
    gpu->next_poll_ns = now + (spent < SPYI_VK_IDLE_MIN_NS   ? SPYI_VK_IDLE_MIN_NS
                               : spent > SPYI_VK_IDLE_MAX_NS ? SPYI_VK_IDLE_MAX_NS
                                                             : spent);
    return status;
}

// >>dispatch

SPYI_FN void spyi_vk_describe_image(const spyi_binding *b, VkDescriptorImageInfo *image) {
    bool general = b->kind == SPYI_BINDING_RW_TEXTURE || b->offset == SPYI_USE_STORED;
    image->sampler = b->kind == SPYI_BINDING_SAMPLER    ? (VkSampler)b->handle
                     : b->kind == SPYI_BINDING_COMBINED ? (VkSampler)b->range
                                                        : VK_NULL_HANDLE;
    image->imageView = b->kind == SPYI_BINDING_SAMPLER ? VK_NULL_HANDLE : (VkImageView)b->handle;
    image->imageLayout = general ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
}

static SPYI_VK_COLD void spyi_vk_describe_images(const spyi_binding *bindings, const spyi_vk_run *run,
                                                 VkDescriptorImageInfo *images) {
    for (uint32_t i = run->first; i < run->first + run->count; i++)
        spyi_vk_describe_image(&bindings[i], &images[i]);
}

static spy_status spyi_vk_push_bindings(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                        const spyi_vk_kernel *kernel, const spyi_binding *bindings,
                                        spyi_text *error) {
    VkDescriptorBufferInfo infos[SPYI_VK_MAX_BINDINGS];
    VkDescriptorImageInfo images[SPYI_VK_MAX_BINDINGS];
    VkBufferView views[SPYI_VK_MAX_BINDINGS];
    VkWriteDescriptorSet writes[SPYI_VK_MAX_BINDINGS];
    uint32_t i, r;
    for (r = 0; r < kernel->run_count; r++) {
        const spyi_vk_run *run = &kernel->runs[r];
        VkWriteDescriptorSet *write = &writes[r];
        if (run->images) spyi_vk_describe_images(bindings, run, images);
        for (i = run->first; !run->images && i < run->first + run->count; i++) {
            infos[i].buffer = (VkBuffer)bindings[i].handle;
            infos[i].offset = bindings[i].offset;
            infos[i].range = bindings[i].range;
            if (SPYI_LIKELY(run->format == VK_FORMAT_UNDEFINED)) continue;
            spy_status status = spyi_vk_make_view(gpu, &bindings[i], run->format, &views[i], error);
            if (status != SPY_OK) return status;
        }
        write->sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write->pNext = NULL;
        write->dstSet = VK_NULL_HANDLE;
        write->dstBinding = run->first;
        write->dstArrayElement = 0;
        write->descriptorCount = run->count;
        write->descriptorType = run->type;
        write->pImageInfo = images + run->first;
        write->pBufferInfo = infos + run->first;
        write->pTexelBufferView = views + run->first;
    }
    gpu->vk.vkCmdPushDescriptorSetKHR(commands, kernel->bind_point, kernel->layout, 0, kernel->run_count,
                                      writes);
    return SPY_OK;
}

// Copies the bytes of uniform buffers into pages, and binds them behind the kernel's other buffers.
static SPYI_VK_COLD spy_status spyi_vk_push_uniforms(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                                     const spyi_vk_kernel *kernel,
                                                     const spyi_uniform *uniforms, spyi_text *error) {
    VkDescriptorBufferInfo infos[SPYI_VK_MAX_BINDINGS];
    VkWriteDescriptorSet write;
    uint32_t i;
    for (i = 0; i < kernel->base.uniform_count; i++) {
        spyi_vk_page *page;
        size_t offset;
        spy_status status = spyi_vk_take_bytes(gpu, uniforms[i].size,
                                               (size_t)gpu->adapter.limits.minUniformBufferOffsetAlignment,
                                               &page, &offset, error);
        if (status != SPY_OK) return status;
        memcpy((char *)page->chunk.mapped + offset, uniforms[i].data, uniforms[i].size);
        infos[i].buffer = (VkBuffer)page->chunk.handle;
        infos[i].offset = offset;
        infos[i].range = uniforms[i].size;
    }
    SPYI_VK_ZERO(write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstBinding = kernel->base.binding_count;
    write.descriptorCount = kernel->base.uniform_count;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    write.pBufferInfo = infos;
    gpu->vk.vkCmdPushDescriptorSetKHR(commands, kernel->bind_point, kernel->layout, 0, 1, &write);
    return SPY_OK;
}

// Pushes a block that vkCmdPushConstants cannot take unchanged: one that goes through memory, so that its
// address is pushed, or one whose size is not a multiple of 4.
static SPYI_VK_COLD spy_status spyi_vk_push_block(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                                  const spyi_vk_kernel *kernel, const void *block,
                                                  spyi_text *error) {
    unsigned char padded[512];
    const void *push = padded;
    if (kernel->block_by_address) {
        spyi_vk_page *page;
        size_t offset;
        uint64_t address;
        spy_status status = spyi_vk_take_bytes(gpu, kernel->base.block_size, 16, &page, &offset, error);
        if (status != SPY_OK) return status;
        memcpy((char *)page->chunk.mapped + offset, block, kernel->base.block_size);
        address = page->chunk.address + offset;
        memcpy(padded, &address, sizeof address);
    } else if (kernel->push_size <= sizeof padded) {
        memset(padded, 0, kernel->push_size);
        memcpy(padded, block, kernel->base.block_size);
    } else {
        spyi_text_add(error, "a parameter block of %u bytes is no multiple of 4", kernel->base.block_size);
        return SPY_ERROR_INTERNAL;
    }
    gpu->vk.vkCmdPushConstants(commands, kernel->layout, kernel->stages, 0, kernel->push_size, push);
    return SPY_OK;
}

// Pushes a kernel's block, unless the command buffer has it from the last call. The kernel is bound, and its block is its push
// constants. Where the blocks of several calls have differed, the next ones are not compared.
static SPYI_VK_HOT void spyi_vk_push_constants(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                               const spyi_vk_kernel *kernel, const void *block) {
    const uint32_t size = kernel->push_size;
    if (gpu->pushed_size == size) {
        if (memcmp(gpu->pushed, block, size) == 0) return;
        gpu->pushed_size = 0;
        gpu->pushed_changes++;
    }
    if (gpu->pushed_changes < SPYI_VK_MOST_CHANGES && size <= SPYI_VK_MAX_PUSHED) {
        memcpy(gpu->pushed, block, size);
        gpu->pushed_size = size;
    }
    gpu->vk.vkCmdPushConstants(commands, kernel->layout, kernel->stages, 0, size, block);
}

static SPYI_VK_HOT spy_status spyi_vk_push(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                           const spyi_vk_kernel *kernel, const void *block,
                                           const spyi_binding *bindings, const spyi_uniform *uniforms,
                                           spyi_text *error) {
    spy_status status = SPY_OK;
    if (SPYI_LIKELY(kernel->push_size == kernel->base.block_size && !kernel->block_by_address)) {
        if (kernel->push_size > 0) spyi_vk_push_constants(gpu, commands, kernel, block);
    } else {
        status = spyi_vk_push_block(gpu, commands, kernel, block, error);
        if (status != SPY_OK) return status;
    }
    if (kernel->run_count > 0 && bindings != NULL) {
        status = spyi_vk_push_bindings(gpu, commands, kernel, bindings, error);
        if (status != SPY_OK) return status;
    }
    if (kernel->base.uniform_count > 0)
        status = spyi_vk_push_uniforms(gpu, commands, kernel, uniforms, error);
    if (!SPYI_LIKELY(!kernel->base.handles))
        gpu->vk.vkCmdBindDescriptorSets(commands, kernel->bind_point, kernel->layout, SPYI_HANDLE_SET, 1,
                                        &gpu->handles.set, 0, NULL);
    return status;
}

SPYI_FN spy_status spyi_vk_push_inputs(spyi_vk_gpu *gpu, VkCommandBuffer commands,
                                       const spyi_vk_kernel *kernel, const void *block,
                                       const spyi_binding *bindings, const spyi_uniform *uniforms,
                                       spyi_text *error) {
    gpu->pushed_size = 0; // those of gpu->bound are overwritten
    const spy_status status = spyi_vk_push(gpu, commands, kernel, block, bindings, uniforms, error);
    gpu->pushed_size = 0;
    return status;
}

SPYI_FN spy_status spyi_vk_dispatch(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    spyi_vk_kernel *kernel = (spyi_vk_kernel *)(void *)dispatch->kernel;
    VkCommandBuffer commands;
    spy_status status;
    if (!SPYI_LIKELY(gpu->commands != VK_NULL_HANDLE)) {
        status = spyi_vk_begin(gpu, error);
        if (status != SPY_OK) return status;
    }
    commands = gpu->commands;
    if (!SPYI_LIKELY(work->before.transition_count == 0))
        spyi_vk_before(gpu, commands, &work->before, dispatch->indirect != 0);
    else if (work->before.barrier) {
        if (SPYI_LIKELY(!gpu->transferred && !gpu->draws && gpu->external == VK_NULL_HANDLE &&
                        dispatch->indirect == 0))
            spyi_vk_kernel_barrier(gpu, commands);
        else spyi_vk_barrier(gpu, commands, dispatch->indirect != 0);
    }
    if (gpu->bound != kernel) {
        gpu->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->pipeline);
        gpu->bound = kernel;
        gpu->pushed_size = gpu->pushed_changes = 0;
    }
    status =
        spyi_vk_push(gpu, commands, kernel, dispatch->block, dispatch->bindings, dispatch->uniforms, error);
    if (!SPYI_LIKELY(status == SPY_OK)) return spyi_vk_failed(gpu, &work->before, status);
    if (SPYI_LIKELY(dispatch->indirect == 0)) {
        gpu->vk.vkCmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
    } else {
        gpu->vk.vkCmdDispatchIndirect(commands, (VkBuffer)dispatch->indirect, dispatch->indirect_offset);
    }
    gpu->base.stats.dispatches++;
    if (gpu->external == VK_NULL_HANDLE) {
        spyi_vk_batch *batch = gpu->batch;
        batch->recent[batch->recent_count++ % SPYI_VK_RECENT] = dispatch->kernel;
    }
    return spyi_vk_recorded(gpu, true, error);
}

// >>copies and fills

SPYI_FN spy_status spyi_vk_copy_buffer(spyi_vk_gpu *gpu, uint64_t to, uint64_t to_offset, uint64_t from,
                                       uint64_t from_offset, uint64_t size, bool barrier, spyi_text *error) {
    VkBufferCopy region;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, barrier);
    region.srcOffset = from_offset;
    region.dstOffset = to_offset;
    region.size = size;
    gpu->vk.vkCmdCopyBuffer(gpu->commands, (VkBuffer)from, (VkBuffer)to, 1, &region);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    const spyi_copy_work *copy = (const spyi_copy_work *)(const void *)work;
    return spyi_vk_copy_buffer((spyi_vk_gpu *)(void *)gpu, copy->to->handle, copy->to_offset,
                               copy->from->handle, copy->from_offset, copy->size, work->before.barrier,
                               error);
}

SPYI_FN spy_status spyi_vk_fill(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_fill_work *fill = (const spyi_fill_work *)(const void *)work;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    gpu->vk.vkCmdFillBuffer(gpu->commands, (VkBuffer)fill->to->handle, fill->offset, fill->size,
                            fill->pattern);
    return spyi_vk_recorded(gpu, false, error);
}

// >>timestamps

SPYI_FN spy_status spyi_vk_make_queries(spyi_vk_gpu *gpu, VkQueryPool *pool, uint32_t count,
                                        spyi_text *error) {
    VkQueryPoolCreateInfo info;
    VkResult result;
    if (gpu->adapter.timestamp_bits == 0) {
        spyi_text_add(error, "the queue of '%s' has no timestamps", gpu->adapter.info.name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (*pool != VK_NULL_HANDLE) return SPY_OK;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = count;
    result = gpu->vk.vkCreateQueryPool(gpu->device, &info, NULL, pool);
    return result == VK_SUCCESS ? SPY_OK : spyi_vk_fail(gpu, result, "vkCreateQueryPool", error);
}

// The barrier makes the timestamp wait for earlier work, so that its time is not counted.
SPYI_FN spy_status spyi_vk_time_begin(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_make_queries(gpu, &gpu->queries, 2, error);
    if (status == SPY_OK) status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->time_number = 0;
    gpu->timing = true;
    spyi_vk_barrier(gpu, gpu->commands, false);
    gpu->vk.vkCmdResetQueryPool(gpu->commands, gpu->queries, 0, 2);
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->queries, 0);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_end(spyi_gpu *base, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status;
    if (gpu->queries == VK_NULL_HANDLE) {
        spyi_text_add(error, "no time was begun");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    gpu->timing = false;
    status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->queries, 1);
    gpu->time_number = gpu->base.open;
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_elapsed(spyi_gpu *base, uint64_t *ns, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint64_t ticks[2], mask = UINT64_MAX;
    VkResult result;
    spy_status status;
    *ns = 0;
    if (gpu->time_number == 0) {
        spyi_text_add(error, "no time was taken");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_vk_wait(base, gpu->time_number, UINT64_MAX, error);
    if (status != SPY_OK) return status;
    result =
        gpu->vk.vkGetQueryPoolResults(gpu->device, gpu->queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkGetQueryPoolResults", error);
    if (gpu->adapter.timestamp_bits < 64) mask = ((uint64_t)1 << gpu->adapter.timestamp_bits) - 1;
    *ns = (uint64_t)((double)((ticks[1] - ticks[0]) & mask) * (double)gpu->adapter.limits.timestampPeriod);
    return SPY_OK;
}
