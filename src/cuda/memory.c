// Memory: chunks for the pool, and pages of pinned memory for small uploads and for parameters in device
// memory.
#include "cuda/internal.h"

static spyi_cu_result spyi_cuda_pinned(spyi_cuda_gpu *gpu, size_t size, spyi_chunk *chunk) {
    spyi_cu_pointer address = 0;
    spyi_cu_result result =
        gpu->cu.MemHostAlloc(&chunk->mapped, size, SPYI_CU_HOST_ALLOC_PORTABLE | SPYI_CU_HOST_ALLOC_MAPPED);
    if (result == SPYI_CU_OK) result = gpu->cu.MemHostGetDevicePointer(&address, chunk->mapped, 0);
    if (result != SPYI_CU_OK && chunk->mapped != NULL) (void)gpu->cu.MemFreeHost(chunk->mapped);
    if (result != SPYI_CU_OK) chunk->mapped = NULL;
    chunk->address = chunk->handle = address;
    return result;
}

SPYI_FN spy_status spyi_cuda_allocate_chunk(spyi_gpu *base, spyi_memory memory, size_t size,
                                            const char *label, spyi_chunk *chunk, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    memset(chunk, 0, sizeof *chunk);
    if (status != SPY_OK) return status;
    size = spyi_align(size, 256);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (memory == SPYI_MEMORY_READBACK) {
        result = spyi_cuda_pinned(gpu, size, chunk);
    } else {
        result = gpu->cu.MemAlloc(&chunk->address, size);
        chunk->handle = chunk->address;
    }
    if (result == SPYI_CU_OK) {
        chunk->size = size;
        chunk->memory = gpu; // a pointer other than NULL tells spyi_cuda_free_chunk() to free the memory
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += size;
    } else {
        size_t unused = 0, total = 0;
        bool named = label != NULL && label[0] != '\0';
        (void)gpu->cu.MemGetInfo(&unused, &total);
        spyi_text_add(error, "%llu bytes were asked for%s%s%s, %llu of %llu are free; ",
                      (unsigned long long)size, named ? " for '" : "", named ? label : "", named ? "'" : "",
                      (unsigned long long)unused, (unsigned long long)total);
        status = spyi_cuda_fail(gpu, result, memory == SPYI_MEMORY_READBACK ? "cuMemHostAlloc" : "cuMemAlloc",
                                error);
        memset(chunk, 0, sizeof *chunk);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_free_chunk(spyi_gpu *base, spyi_chunk *chunk) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    if (chunk->memory != NULL) { // imported memory belongs to the program and has NULL here
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        if (chunk->mapped != NULL) (void)gpu->cu.MemFreeHost(chunk->mapped);
        else (void)gpu->cu.MemFree(chunk->address);
        gpu->base.stats.driver_bytes -= chunk->size;
        spyi_cuda_leave_relaxed(gpu, entered);
    }
    memset(chunk, 0, sizeof *chunk);
}

// >>pages

static void spyi_cuda_free_page(spyi_cuda_gpu *gpu, spyi_cuda_page *page) {
    int mode = spyi_cuda_relax(gpu);
    if (page->host != NULL) (void)gpu->cu.MemFreeHost(page->host);
    if (page->device != 0) (void)gpu->cu.MemFree(page->device);
    spyi_cuda_restore(gpu, mode);
    gpu->base.stats.driver_bytes -= 2 * page->size; // the page has host memory and device memory of this size
    spyi_free(gpu->base.ctx, page, sizeof *page);
}

static spy_status spyi_cuda_new_page(spyi_cuda_gpu *gpu, size_t size, spyi_cuda_page **out,
                                     spyi_text *error) {
    spyi_cuda_page *page = (spyi_cuda_page *)spyi_allocate(gpu->base.ctx, sizeof *page);
    void *host = NULL;
    spyi_cu_result result;
    if (page == NULL) {
        spyi_text_add(error, "no host memory for a page of parameters");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    page->size = size;
    gpu->base.stats.driver_bytes += 2 * size;
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.MemHostAlloc(&host, size, SPYI_CU_HOST_ALLOC_PORTABLE);
    page->host = (char *)host;
    if (result == SPYI_CU_OK) result = gpu->cu.MemAlloc(&page->device, size);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) {
        spy_status status = spyi_cuda_fail(gpu, result, "a page of pinned memory: cuMemHostAlloc", error);
        spyi_cuda_free_page(gpu, page);
        return status;
    }
    gpu->base.stats.driver_allocations++;
    *out = page;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_take_from(spyi_cuda_gpu *gpu, spyi_cuda_page **list, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error) {
    spyi_cuda_page *page = *list;
    size_t rounded = spyi_align(size, 256); // cuMemAlloc aligns addresses to 256 bytes
    if (page == NULL || page->size - page->used < rounded) {
        if (rounded <= SPYI_CUDA_PAGE_SIZE && gpu->free_pages != NULL) {
            page = gpu->free_pages;
            gpu->free_pages = page->next;
        } else {
            spy_status status = spyi_cuda_new_page(
                gpu, rounded > SPYI_CUDA_PAGE_SIZE ? rounded : SPYI_CUDA_PAGE_SIZE, &page, error);
            if (status != SPY_OK) return status;
        }
        page->used = 0;
        page->next = *list;
        *list = page;
    }
    *host = page->host + page->used;
    *device = page->device + page->used;
    page->used += rounded;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_take_bytes(spyi_cuda_gpu *gpu, size_t size, char **host, spyi_cu_pointer *device,
                                        spyi_text *error) {
    // Each launch of a captured graph reads its parameters again, so they stay where they are.
    if (!SPYI_LIKELY(!gpu->base.captured))
        return spyi_cuda_take_from(gpu, &gpu->kept_pages, size, host, device, error);
    spyi_cuda_page **list = &gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].pages;
    spy_status status = spyi_cuda_take_from(gpu, list, size, host, device, error);
    if (status == SPY_OK) gpu->work_bytes += spyi_align(size, 256);
    return status;
}

// Returns pages whose work is done to the free list. Pages above the usual size are freed.
SPYI_FN void spyi_cuda_return_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages) {
    while (*pages != NULL) {
        spyi_cuda_page *page = *pages;
        *pages = page->next;
        if (page->size > SPYI_CUDA_PAGE_SIZE) {
            spyi_cuda_free_page(gpu, page);
            continue;
        }
        page->next = gpu->free_pages;
        gpu->free_pages = page;
    }
}

SPYI_FN void spyi_cuda_free_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages) {
    while (*pages != NULL) {
        spyi_cuda_page *page = *pages;
        *pages = page->next;
        spyi_cuda_free_page(gpu, page);
    }
}
