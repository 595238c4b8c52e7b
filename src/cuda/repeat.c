// A kernel that is launched again and again goes to the GPU as a graph of one node: the driver has its launch ready, and
// changes in it only what differs. An H200's host, driver 580.159 (CUDA 13.0), three processes, us a launch in a row of
// 10,000 (of 300):
//
//   cuLaunchKernel                           4.14   4.44 (3.51)
//     by CU_LAUNCH_PARAM_BUFFER_POINTER      4.11
//     cuLaunchKernelEx                       4.07
//     with programmatic serialisation        3.50
//   cuGraphLaunch, as the last one           1.92   2.08 (1.31)
//     after cuGraphExecKernelNodeSetParams          2.56 (1.55)   one for all launches; as good as 16 in turn
//     with another grid                             4.19 (2.84)
//     with another function                         4.73 (3.34)   so each kernel has a graph of its own
//     with 4,000 bytes of parameters                5.44 (3.02)   cuLaunchKernel: 4.13 (3.82)
//   launch and wait                          8.65 by cuLaunchKernel, 6.59 by a graph, 6.22 with nothing changed
//
// Kernels that still run keep the parameters that they were launched with; nothing waits. One costs 19 us and 116 KiB of
// device memory, so only kernels that come back have one, and not all of them.
#include "cuda/internal.h"

#define SPYI_CUDA_REPEAT_LEAST_VERSION                                                                       \
    12060                          // graphs in a line are launched in constant time from CUDA 12.6 on
#define SPYI_CUDA_REPEAT_AFTER 16u // launches of a kernel before it gets a graph
#define SPYI_CUDA_REPEAT_OLD 4096u // launches of others after which a kernel's graph may go to another

// >>which kernels

SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel) {
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches &&
           spyi_cuda_is_plain(kernel) && kernel->base.block_size <= sizeof kernel->repeat.block;
}

// A place among the kernels that have one: a free one, or that of a kernel that has not been launched for long. NULL: none.
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
    if (repeat->graph == NULL) return;                                      // and has no place
    if (repeat->exec != NULL) (void)gpu->cu.GraphExecDestroy(repeat->exec); // launches in flight go on
    (void)gpu->cu.GraphDestroy(repeat->graph);
    for (uint32_t i = 0; i < SPYI_CUDA_REPEATING; i++)
        if (gpu->repeating[i] == kernel) gpu->repeating[i] = NULL;
    memset(repeat, 0, sizeof *repeat);
}

// >>launching

// What exec holds from now on.
static void spyi_cuda_repeat_note(spyi_cuda_kernel *kernel, const uint32_t groups[3], const void *block) {
    memcpy(kernel->repeat.groups, groups, sizeof kernel->repeat.groups);
    if (kernel->base.block_size > 0) memcpy(kernel->repeat.block, block, kernel->base.block_size);
}

// Without one the kernel is launched as before, and asks again later.
static bool spyi_cuda_repeat_make(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                  const void *block, void **params) {
    spyi_cuda_kernel **place = spyi_cuda_repeat_place(gpu);
    spyi_cuda_repeat *repeat = &kernel->repeat;
    spyi_cu_kernel_params node = spyi_cuda_node_params(kernel, groups, params);
    spyi_cu_result result;
    repeat->launches = 0;
    if (place == NULL) return false;
    result = gpu->cu.GraphCreate(&repeat->graph, 0);
    if (result == SPYI_CU_OK)
        result = gpu->cu.GraphAddKernelNode(&repeat->node, repeat->graph, NULL, 0, &node);
    if (result == SPYI_CU_OK) result = gpu->cu.GraphInstantiate(&repeat->exec, repeat->graph, 0);
    if (result != SPYI_CU_OK) {
        repeat->exec = NULL;
        spyi_cuda_repeat_free(gpu, kernel);
        return false;
    }
    spyi_cuda_repeat_note(kernel, groups, block);
    *place = kernel;
    return true;
}

// Into a stream that the program captures goes a launch of its own.
static bool spyi_cuda_is_captured(const spyi_cuda_gpu *gpu) {
    int state = 0;
    return gpu->stream != gpu->own_stream &&
           (gpu->cu.StreamIsCapturing(gpu->stream, &state) != SPYI_CU_OK || state != 0);
}

SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *base) {
    const spyi_cuda_gpu *gpu = (const spyi_cuda_gpu *)(const void *)base;
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches &&
           !spyi_cuda_is_captured(gpu);
}

SPYI_FN bool spyi_cuda_repeat_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                     const void *block, void **params, spyi_cu_result *result) {
    spyi_cuda_repeat *repeat = &kernel->repeat;
    if (repeat->exec == NULL && ++repeat->launches < SPYI_CUDA_REPEAT_AFTER) return false;
    if (spyi_cuda_is_captured(gpu)) return false;
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
