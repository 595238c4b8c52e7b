// Launches a kernel that is launched many times as a CUDA graph of one node: the driver keeps the launch
// ready and changes only what differs. Such a launch takes about half the time of cuLaunchKernel(). Putting
// another function into the same graph takes longer, so each kernel has a graph of its own
// (docs/measurements.md, "Launches of CUDA kernels").
//
// Kernels that still run keep the parameters of their launch; nothing waits. A graph costs 19 us and 116 KiB
// of device memory, so only kernels that are launched often have one, and at most SPYI_CUDA_REPEATING of
// them.
#include "cuda/internal.h"

// The least version of CUDA. From 12.6 on a graph without branches is launched in constant time.
#define SPYI_CUDA_REPEAT_LEAST_VERSION 12060
#define SPYI_CUDA_REPEAT_AFTER 16u // the number of launches of a kernel before it gets a graph
// The number of launches of other kernels after which a kernel may lose its graph to another one.
#define SPYI_CUDA_REPEAT_OLD 4096u

// >>which kernels

SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel) {
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches &&
           spyi_cuda_is_plain(kernel) && kernel->base.block_size <= SPYI_CUDA_REPEAT_BYTES;
}

// Returns a slot of gpu->repeating: a free one, or that of the kernel that was not launched for the longest
// time, whose graph is freed. Returns NULL when all kernels with a graph were launched recently.
static spyi_cuda_kernel **spyi_cuda_repeat_place(spyi_cuda_gpu *gpu) {
    spyi_cuda_kernel **oldest = &gpu->repeating[0];
    for (uint32_t i = 0; i < SPYI_CUDA_REPEATING; i++) {
        spyi_cuda_kernel **place = &gpu->repeating[i];
        if (*place == NULL) return place;
        if (gpu->recent_count - (*place)->repeat.last > gpu->recent_count - (*oldest)->repeat.last)
            oldest = place;
    }
    if (gpu->recent_count - (*oldest)->repeat.last < SPYI_CUDA_REPEAT_OLD) return NULL;
    spyi_cuda_repeat_free(gpu, *oldest);
    return oldest;
}

SPYI_FN void spyi_cuda_repeat_free(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    spyi_cuda_repeat *repeat = &kernel->repeat;
    spyi_free(gpu->base.ctx, repeat->block, kernel->base.block_size);
    repeat->block = NULL;
    // there is no graph, and so no slot
    if (repeat->graph == NULL) return;
    if (repeat->exec != NULL)
        (void)gpu->cu.GraphExecDestroy(repeat->exec); // launches in flight continue
                                                      // without it
    (void)gpu->cu.GraphDestroy(repeat->graph);
    for (uint32_t i = 0; i < SPYI_CUDA_REPEATING; i++)
        if (gpu->repeating[i] == kernel) gpu->repeating[i] = NULL;
    memset(repeat, 0, sizeof *repeat);
}

// >>launching

// Remembers the group counts and the parameter block that `exec` holds from now on.
static void spyi_cuda_repeat_note(spyi_cuda_kernel *kernel, const uint32_t groups[3], const void *block) {
    memcpy(kernel->repeat.groups, groups, sizeof kernel->repeat.groups);
    if (kernel->base.block_size > 0) memcpy(kernel->repeat.block, block, kernel->base.block_size);
}

// Makes the kernel's graph. On false the kernel is launched without a graph, and tries again after
// SPYI_CUDA_REPEAT_AFTER launches.
static bool spyi_cuda_repeat_make(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                  const void *block, void **params) {
    spyi_cuda_kernel **place = spyi_cuda_repeat_place(gpu);
    spyi_cuda_repeat *repeat = &kernel->repeat;
    spyi_cu_kernel_params node = spyi_cuda_node_params(kernel, groups, params);
    spyi_cu_result result;
    repeat->launches = 0;
    if (place == NULL) return false;
    if (kernel->base.block_size > 0) {
        repeat->block = (char *)spyi_allocate(gpu->base.ctx, kernel->base.block_size);
        if (repeat->block == NULL) return false;
    }
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.GraphCreate(&repeat->graph, 0);
    if (result == SPYI_CU_OK)
        result = gpu->cu.GraphAddKernelNode(&repeat->node, repeat->graph, NULL, 0, &node);
    if (result == SPYI_CU_OK) result = gpu->cu.GraphInstantiate(&repeat->exec, repeat->graph, 0);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) {
        repeat->exec = NULL;
        spyi_cuda_repeat_free(gpu, kernel);
        return false;
    }
    spyi_cuda_repeat_note(kernel, groups, block);
    *place = kernel;
    return true;
}

SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *base) {
    const spyi_cuda_gpu *gpu = (const spyi_cuda_gpu *)(const void *)base;
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches && !gpu->base.captured;
}

SPYI_FN bool spyi_cuda_repeat_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                     const void *block, void **params, spyi_cu_result *result) {
    spyi_cuda_repeat *repeat = &kernel->repeat;
    if (repeat->exec == NULL && ++repeat->launches < SPYI_CUDA_REPEAT_AFTER) return false;
    if (!SPYI_LIKELY(!gpu->base.captured)) return false; // the program's graph gets the kernel itself
    if (repeat->exec == NULL && !spyi_cuda_repeat_make(gpu, kernel, groups, block, params)) return false;
    if (memcmp(repeat->groups, groups, sizeof repeat->groups) != 0 ||
        (kernel->base.block_size > 0 && memcmp(repeat->block, block, kernel->base.block_size) != 0)) {
        spyi_cu_kernel_params node = spyi_cuda_node_params(kernel, groups, params);
        *result = gpu->cu.GraphExecKernelNodeSetParams(repeat->exec, repeat->node, &node);
        if (*result != SPYI_CU_OK) {
            spyi_cuda_repeat_free(gpu, kernel);
            return false;
        }
        spyi_cuda_repeat_note(kernel, groups, block);
    }
    *result = gpu->cu.GraphLaunch(repeat->exec, gpu->stream);
    repeat->last = gpu->recent_count;
    return true;
}
