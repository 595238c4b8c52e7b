// Records marks into the open command buffer: labels for debug tools, and timestamps that are stored in
// memory.
#include "vk/internal.h"

// In Vulkan a label may end in another command buffer than it began in, but Mesa before 23.1 crashes then. So
// each batch closes the open labels and the next batch opens them again. Labels deeper than SPYI_VK_LABELS
// are left out.

static bool spyi_vk_has_labels(const spyi_vk_gpu *gpu) {
    const spyi_vk_instance *instance = &gpu->instance;
    return instance->begin_label != NULL && instance->end_label != NULL && instance->insert_label != NULL;
}

static VkDebugUtilsLabelEXT spyi_vk_label_info(const char *name) {
    VkDebugUtilsLabelEXT label;
    SPYI_VK_ZERO(label);
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
    label.pLabelName = name;
    return label;
}

static uint32_t spyi_vk_shown_labels(const spyi_vk_gpu *gpu) {
    return gpu->label_depth < SPYI_VK_LABELS ? gpu->label_depth : SPYI_VK_LABELS;
}

SPYI_FN void spyi_vk_open_labels(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < spyi_vk_shown_labels(gpu); i++) {
        VkDebugUtilsLabelEXT label = spyi_vk_label_info(gpu->labels[i]);
        gpu->instance.begin_label(gpu->commands, &label);
    }
}

SPYI_FN void spyi_vk_close_labels(spyi_vk_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < spyi_vk_shown_labels(gpu); i++) gpu->instance.end_label(gpu->batch->commands);
}

static void spyi_vk_push_label(spyi_vk_gpu *gpu, VkCommandBuffer commands, const char *name) {
    uint32_t at = gpu->label_depth++;
    VkDebugUtilsLabelEXT label = spyi_vk_label_info(name);
    if (at >= SPYI_VK_LABELS) return;
    (void)snprintf(gpu->labels[at], sizeof gpu->labels[at], "%s", name);
    gpu->instance.begin_label(commands, &label);
}

static void spyi_vk_pop_label(spyi_vk_gpu *gpu, VkCommandBuffer commands) {
    if (gpu->label_depth == 0) return;
    if (--gpu->label_depth < SPYI_VK_LABELS) gpu->instance.end_label(commands);
}

// Begins or ends a label. Labels may do so anywhere, even inside an open pass, which they do not end.
SPYI_FN spy_status spyi_vk_label(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_label_work *given = (const spyi_label_work *)(const void *)work;
    VkDebugUtilsLabelEXT label = spyi_vk_label_info(given->name);
    VkCommandBuffer commands = gpu->pass.commands;
    spy_status status;
    if (!spyi_vk_has_labels(gpu)) return SPY_OK;
    if (commands == VK_NULL_HANDLE) {
        status = spyi_vk_begin(gpu, error);
        if (status != SPY_OK) return status;
        commands = gpu->commands;
    }
    switch (given->label) {
    case SPYI_LABEL_PUSH: spyi_vk_push_label(gpu, commands, given->name); break;
    case SPYI_LABEL_POP: spyi_vk_pop_label(gpu, commands); break;
    case SPYI_LABEL_POINT: gpu->instance.insert_label(commands, &label); break;
    }
    return spyi_vk_recorded(gpu, false, error);
}

// Writes a timestamp. The slot can be reset without a barrier, because commands on queries run in the order
// in which they were recorded.
SPYI_FN spy_status spyi_vk_time_mark(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    spy_status status = spyi_vk_make_queries(gpu, &gpu->marks, SPYI_TIME_SLOTS, error);
    if (status == SPY_OK) status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    gpu->vk.vkCmdResetQueryPool(gpu->commands, gpu->marks, slot, 1);
    gpu->vk.vkCmdWriteTimestamp(gpu->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, gpu->marks, slot);
    return spyi_vk_recorded(gpu, false, error);
}

SPYI_FN spy_status spyi_vk_time_store(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    const spyi_time_store_work *store = (const spyi_time_store_work *)(const void *)work;
    spy_status status = spyi_vk_begin(gpu, error);
    if (status != SPY_OK) return status;
    spyi_vk_before_transfer(gpu, work->before.barrier);
    gpu->vk.vkCmdCopyQueryPoolResults(gpu->commands, gpu->marks, 0, store->count, (VkBuffer)store->to->handle,
                                      store->offset, sizeof(uint64_t),
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    return spyi_vk_recorded(gpu, true, error);
}
