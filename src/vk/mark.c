// Marks in the open command buffer: labels for debug tools, and GPU times that are stored in memory.
#include "vk/internal.h"

SPYI_FN spy_status spyi_vk_label(spyi_gpu *base, spyi_label kind, const char *name, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_vk_instance *instance = &gpu->instance;
    VkDebugUtilsLabelEXT label;
    spy_status status;
    if (instance->begin_label == NULL || instance->end_label == NULL || instance->insert_label == NULL)
        return SPY_OK;
    status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    SPYI_VK_ZERO(label);
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    label.pLabelName = name;
    switch (kind) {
    case SPYI_LABEL_PUSH: instance->begin_label(gpu->commands, &label); break;
    case SPYI_LABEL_POP: instance->end_label(gpu->commands); break;
    case SPYI_LABEL_POINT: instance->insert_label(gpu->commands, &label); break;
    }
    return spyi_vk_recorded(gpu, false, error);
}

// A reset comes after what was recorded earlier with the slot: queries keep the order of the queue among themselves.
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *base, uint32_t slot, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_make_queries(gpu, &gpu->marks, SPYI_TIME_SLOTS, error);
    if (status == SPY_OK) status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->vk.vkCmdResetQueryPool(gpu->commands, gpu->marks, slot, 1);
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->marks, slot);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *base, const spyi_chunk *to, uint64_t offset, uint32_t count,
                                      bool barrier, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    if (barrier) spyi_vk_barrier(gpu, gpu->commands, false);
    gpu->vk.vkCmdCopyQueryPoolResults(gpu->commands, gpu->marks, 0, count, (VkBuffer)to->handle, offset,
                                      sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return spyi_vk_recorded(gpu, true, error);
}
