// Device memory: chooses a memory type for each kind of memory, allocates chunks, and keeps pages for
// parameter blocks.
#include "vk/internal.h"

// Finds the first memory type with all flags of `need`, if possible with all of `want`, then if possible with
// none of `avoid`.
static bool spyi_vk_find_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags need,
                              VkMemoryPropertyFlags want, VkMemoryPropertyFlags avoid, uint32_t *type) {
    // Lazily allocated, protected, and AMD's coherent and uncached types are not meant for such buffers.
    const VkMemoryPropertyFlags never =
        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    uint32_t i;
    int best = -1;
    for (i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        int score = ((flags & want) == want ? 2 : 0) + ((flags & avoid) == 0 ? 1 : 0);
        if ((flags & need) != need || (flags & never) != 0 || score <= best) continue;
        best = score;
        *type = i;
    }
    return best >= 0;
}

// Chooses the memory types. It assumes that buffers of the library's usage may use every memory type that
// buffers can use; if not, the first allocation fails.
SPYI_FN bool spyi_vk_choose_memory(spyi_vk_gpu *gpu, spyi_text *error) {
    const VkPhysicalDeviceMemoryProperties *memory = &gpu->adapter.memory;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    bool discrete = gpu->adapter.info.type == SPY_ADAPTER_TYPE_DISCRETE;
    bool ok =
        spyi_vk_find_type(memory, local, discrete ? 0 : host | cached, discrete ? host : 0,
                          &gpu->memory_type[SPYI_VK_MEMORY_DEVICE]) &&
        spyi_vk_find_type(memory, host, cached, discrete ? local : 0,
                          &gpu->memory_type[SPYI_VK_MEMORY_READBACK]) &&
        spyi_vk_find_type(memory, host, 0, discrete ? local : 0, &gpu->memory_type[SPYI_VK_MEMORY_STAGING]) &&
        spyi_vk_find_type(memory, host, local, 0, &gpu->memory_type[SPYI_VK_MEMORY_PAGE]);
    if (!ok) spyi_text_add(error, "the device '%s' has no usable memory types", gpu->adapter.info.name);
    return ok;
}

// *what gets the name of the function that failed. `exported` says that the memory gets a file descriptor
// (vk/shared.c): an allocation for this buffer alone, because some drivers export no other.
SPYI_FN VkResult spyi_vk_try_allocate(spyi_vk_gpu *gpu, uint32_t type, size_t size, bool exported,
                                      spyi_chunk *chunk, const char **what) {
    VkMemoryPropertyFlags flags = gpu->adapter.memory.memoryTypes[type].propertyFlags;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBufferCreateInfo buffer_info;
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo info;
    VkMemoryAllocateFlagsInfo allocate_flags;
    VkExternalMemoryBufferCreateInfo external;
    VkExportMemoryAllocateInfo export_info;
    VkMemoryDedicatedAllocateInfo dedicated;
    VkBufferDeviceAddressInfo address;
    VkResult result;
    uint32_t families[2];
    families[0] = gpu->queue_family;
    families[1] = gpu->lane_family;
    SPYI_VK_ZERO(buffer_info);
    buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer_info.size = size;
    buffer_info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                        VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                        VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                        VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                        VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
    SPYI_VK_ZERO(external);
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    if (exported) buffer_info.pNext = &external;
    if (families[0] != families[1]) { // sharing between queues costs nothing for buffers
        buffer_info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        buffer_info.queueFamilyIndexCount = 2;
        buffer_info.pQueueFamilyIndices = families;
    }
    *what = "vkCreateBuffer";
    result = gpu->vk.vkCreateBuffer(gpu->device, &buffer_info, NULL, &buffer);
    if (result != VK_SUCCESS) return result;
    *what = "vkAllocateMemory";
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, buffer, &needs);

    SPYI_VK_ZERO(allocate_flags);
    allocate_flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    allocate_flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    SPYI_VK_ZERO(export_info);
    export_info.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
    export_info.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    SPYI_VK_ZERO(dedicated);
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
    dedicated.buffer = buffer;
    dedicated.pNext = &export_info;
    if (exported) allocate_flags.pNext = &dedicated;
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &allocate_flags;
    info.allocationSize = needs.size;
    info.memoryTypeIndex = type;
    result = (needs.memoryTypeBits & (1u << type)) != 0 ? VK_SUCCESS : VK_ERROR_FEATURE_NOT_PRESENT;
    if (result == VK_SUCCESS) result = gpu->vk.vkAllocateMemory(gpu->device, &info, NULL, &memory);
    if (result == VK_SUCCESS) {
        *what = "vkBindBufferMemory";
        result = gpu->vk.vkBindBufferMemory(gpu->device, buffer, memory, 0);
    }
    if (result == VK_SUCCESS && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
        *what = "vkMapMemory";
        result = gpu->vk.vkMapMemory(gpu->device, memory, 0, VK_WHOLE_SIZE, 0, &chunk->mapped);
    }
    if (result != VK_SUCCESS) {
        chunk->mapped = NULL;
        gpu->vk.vkDestroyBuffer(gpu->device, buffer, NULL);
        if (memory != VK_NULL_HANDLE) gpu->vk.vkFreeMemory(gpu->device, memory, NULL);
        return result;
    }
    SPYI_VK_ZERO(address);
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = buffer;
    chunk->handle = (uint64_t)buffer;
    chunk->address = gpu->vk.vkGetBufferDeviceAddress(gpu->device, &address);
    chunk->size = size;
    chunk->memory = (void *)memory;
    return VK_SUCCESS;
}

SPYI_FN spy_status spyi_vk_allocate(spyi_vk_gpu *gpu, spyi_vk_memory kind, size_t size, const char *label,
                                    spyi_chunk *chunk, spyi_text *error) {
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const char *what = "vkAllocateMemory";
    uint32_t type = gpu->memory_type[kind];
    const VkMemoryHeap *heap =
        &gpu->adapter.memory.memoryHeaps[gpu->adapter.memory.memoryTypes[type].heapIndex];
    memset(chunk, 0, sizeof *chunk);
    if (spyi_vk_is_lost(gpu, error)) return SPY_ERROR_DEVICE_LOST;
    size = spyi_align(size, 256);
    if (size <= gpu->adapter.max_allocation && size <= heap->size)
        result = spyi_vk_try_allocate(gpu, type, size, false, chunk, &what);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY &&
        kind == SPYI_VK_MEMORY_PAGE) { // the heap of mapped device memory may be small
        result =
            spyi_vk_try_allocate(gpu, gpu->memory_type[SPYI_VK_MEMORY_STAGING], size, false, chunk, &what);
    }
    if (result != VK_SUCCESS) {
        spyi_text_add(error, "%llu bytes%s%s%s were asked for; ", (unsigned long long)size,
                      label != NULL && label[0] != '\0' ? " for '" : "", label != NULL ? label : "",
                      label != NULL && label[0] != '\0' ? "'" : "");
        if (size > gpu->adapter.max_allocation || size > heap->size) {
            spyi_text_add(error, "the largest allocation of '%s' is %llu bytes", gpu->adapter.info.name,
                          (unsigned long long)(gpu->adapter.max_allocation < heap->size
                                                   ? gpu->adapter.max_allocation
                                                   : heap->size));
            return SPY_ERROR_OUT_OF_DEVICE_MEMORY;
        }
        return spyi_vk_fail(gpu, result, what, error);
    }
    gpu->base.stats.driver_allocations++;
    gpu->base.stats.driver_bytes += chunk->size;
    spyi_vk_set_name(gpu, VK_OBJECT_TYPE_BUFFER, chunk->handle, label);
    return SPY_OK;
}

SPYI_FN spy_status spyi_vk_allocate_chunk(spyi_gpu *base, spyi_memory memory, size_t size, const char *label,
                                          spyi_chunk *chunk, spyi_text *error) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    spy_status status = spyi_vk_allocate(gpu, (spyi_vk_memory)memory, size, label, chunk, error);
    // The mapping of device memory that is not cached is not offered, because the host reads such memory at 1
    // us per 8 bytes.
    if (memory == SPYI_MEMORY_DEVICE && !gpu->base.limits.unified_memory) chunk->mapped = NULL;
    return status;
}

SPYI_FN void spyi_vk_free_chunk(spyi_gpu *base, spyi_chunk *chunk) {
    spyi_vk_gpu *gpu = (spyi_vk_gpu *)(void *)base;
    if (chunk->memory != NULL) { // imported chunks have no memory here: the engine owns it
        gpu->vk.vkDestroyBuffer(gpu->device, (VkBuffer)chunk->handle, NULL);
        gpu->vk.vkFreeMemory(gpu->device, (VkDeviceMemory)chunk->memory, NULL);
        gpu->base.stats.driver_bytes -= chunk->size;
    }
    memset(chunk, 0, sizeof *chunk);
}

// >>pages

// Takes a free page of at least `size` bytes and at most twice that (or SPYI_VK_PAGE_SIZE). Returns NULL when
// there is none.
static spyi_vk_page *spyi_vk_reuse_page(spyi_vk_gpu *gpu, size_t size) {
    size_t most = size > SPYI_VK_PAGE_SIZE ? size * 2 : SPYI_VK_PAGE_SIZE;
    spyi_vk_page **at;
    for (at = &gpu->free_pages; *at != NULL; at = &(*at)->next) {
        spyi_vk_page *page = *at;
        if (page->chunk.size < size || page->chunk.size > most) continue;
        *at = page->next;
        gpu->free_page_bytes -= page->chunk.size;
        return page;
    }
    return NULL;
}

SPYI_FN spy_status spyi_vk_take_bytes(spyi_vk_gpu *gpu, size_t size, size_t alignment, spyi_vk_page **out,
                                      size_t *offset, spyi_text *error) {
    bool external = gpu->external != VK_NULL_HANDLE;
    spyi_vk_page **list = external ? &gpu->last_recording->pages : &gpu->batch->pages;
    spyi_vk_page *page = *list;
    size_t rounded = spyi_align(size, 16), at = page != NULL ? spyi_align(page->used, alignment) : 0;
    spy_status status;
    if (page == NULL || page->chunk.size < at + rounded) {
        page = spyi_vk_reuse_page(gpu, rounded);
        if (page == NULL) {
            page = (spyi_vk_page *)spyi_allocate(gpu->base.ctx, sizeof *page);
            if (page == NULL) {
                spyi_text_add(error, "no host memory for a page of parameters");
                return SPY_ERROR_OUT_OF_MEMORY;
            }
            status = spyi_vk_allocate(gpu, SPYI_VK_MEMORY_PAGE,
                                      rounded > SPYI_VK_PAGE_SIZE ? rounded : SPYI_VK_PAGE_SIZE,
                                      "slangpy parameters", &page->chunk, error);
            if (status != SPY_OK) {
                spyi_free(gpu->base.ctx, page, sizeof *page);
                return status;
            }
        }
        at = 0;
        page->next = *list;
        *list = page;
        if (external) gpu->base.stats.recording_bytes += page->chunk.size;
    }
    *out = page;
    *offset = at;
    page->used = at + rounded;
    gpu->work_bytes += rounded;
    return SPY_OK;
}

// Makes the view of a typed buffer. A page of the work keeps the view, and it is destroyed when that work has
// ended.
SPYI_FN spy_status spyi_vk_make_view(spyi_vk_gpu *gpu, const spyi_binding *binding, VkFormat format,
                                     VkBufferView *view, spyi_text *error) {
    VkBufferViewCreateInfo info;
    VkResult result;
    spyi_vk_page *page;
    size_t offset;
    spy_status status = spyi_vk_take_bytes(gpu, 0, 1, &page, &offset, error);
    if (status != SPY_OK) return status;
    if (page->view_count == page->view_capacity) {
        uint32_t capacity = page->view_capacity ? page->view_capacity * 2 : 16;
        VkBufferView *views = (VkBufferView *)spyi_realloc(page->views, capacity * sizeof *views);
        if (views == NULL) {
            spyi_text_add(error, "no host memory for a typed buffer");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        page->views = views;
        page->view_capacity = capacity;
    }
    SPYI_VK_ZERO(info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
    info.buffer = (VkBuffer)binding->handle;
    info.format = format;
    info.offset = binding->offset;
    info.range = binding->range;
    result = gpu->vk.vkCreateBufferView(gpu->device, &info, NULL, view);
    if (result != VK_SUCCESS) return spyi_vk_fail(gpu, result, "vkCreateBufferView", error);
    page->views[page->view_count++] = *view;
    return SPY_OK;
}

static void spyi_vk_free_views(spyi_vk_gpu *gpu, spyi_vk_page *page) {
    while (page->view_count > 0)
        gpu->vk.vkDestroyBufferView(gpu->device, page->views[--page->view_count], NULL);
}

static void spyi_vk_free_page(spyi_vk_gpu *gpu, spyi_vk_page *page) {
    spyi_vk_free_views(gpu, page);
    free(page->views);
    spyi_vk_free_chunk((spyi_gpu *)(void *)gpu, &page->chunk);
    spyi_free(gpu->base.ctx, page, sizeof *page);
}

SPYI_FN void spyi_vk_return_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages) {
    while (*pages != NULL) {
        spyi_vk_page *page = *pages;
        *pages = page->next;
        spyi_vk_free_views(gpu, page);
        if (gpu->free_page_bytes + page->chunk.size > SPYI_VK_PAGES_KEPT) {
            spyi_vk_free_page(gpu, page);
            continue;
        }
        page->next = gpu->free_pages;
        gpu->free_pages = page;
        gpu->free_page_bytes += page->chunk.size;
    }
}

SPYI_FN void spyi_vk_free_pages(spyi_vk_gpu *gpu, spyi_vk_page **pages) {
    while (*pages != NULL) {
        spyi_vk_page *page = *pages;
        *pages = page->next;
        spyi_vk_free_page(gpu, page);
    }
}
