// CUDA graphs: the work of a command list as a graph that one launch starts.
//
// A graph is built node by node, not captured from the stream. So a node's parameters can be changed later,
// and work without a barrier between may run side by side, whereas a captured stream is a chain. Barriers
// divide the work into levels: each node waits for all nodes of the level before its own.
#include "cuda/internal.h"

// The largest number of edges of a node; nodes wait for a larger level through one empty node.
#define SPYI_CUDA_GRAPH_WAITS 8u
// The most bytes that one node copies or fills: half of what 32-bit sizes and pitches can hold.
#define SPYI_CUDA_GRAPH_PIECE ((uint64_t)1 << 30)

typedef struct spyi_cuda_node {
    spyi_cu_node node;
    spyi_cuda_kernel *kernel;
    uint32_t groups[3];
    spyi_cu_pointer memory; // device memory of the node's uniform buffers and of its block in memory; 0 means
                            // that it has neither
} spyi_cuda_node;

struct spyi_cuda_graph {
    spyi_cu_graph graph; // stays, because its nodes also identify those of `exec`
    spyi_cu_exec exec;
    spyi_cuda_node *nodes; // one for each dispatch
    uint32_t count, capacity;
    spyi_cuda_page *pages; // pages in whose device memory the nodes' parameters are
    // The members below are used only while the graph is recorded.
    spyi_cu_node before[SPYI_CUDA_GRAPH_WAITS]; // nodes that the open level waits for
    uint32_t before_count;
    spyi_cu_node *level; // nodes of the open level
    uint32_t level_count, level_capacity;
};

static spyi_cuda_graph *spyi_cuda_graph_cast(spyi_graph *graph) {
    return (spyi_cuda_graph *)(void *)graph;
}

static bool spyi_cuda_graph_grow(spyi_cuda_gpu *gpu, void **items, uint32_t *capacity, uint32_t count,
                                 size_t element) {
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *moved;
    if (count < *capacity) return true;
    moved = spyi_reallocate(gpu->base.ctx, *items, *capacity * element, wanted * element);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

// >>levels

static spy_status spyi_cuda_graph_barrier(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    if (graph->level_count == 0) return SPY_OK;
    if (graph->level_count > SPYI_CUDA_GRAPH_WAITS) {
        spyi_cu_node all = NULL;
        spyi_cu_result result =
            gpu->cu.GraphAddEmptyNode(&all, graph->graph, graph->level, graph->level_count);
        if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuGraphAddEmptyNode", error);
        graph->level[0] = all;
        graph->level_count = 1;
    }
    memcpy(graph->before, graph->level, graph->level_count * sizeof *graph->level);
    graph->before_count = graph->level_count;
    graph->level_count = 0;
    return SPY_OK;
}

// Ends the open level at a barrier and makes room for one more node. Call spyi_cuda_graph_added() after
// adding the node.
static spy_status spyi_cuda_graph_room(spyi_cuda_gpu *gpu, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    spy_status status = barrier ? spyi_cuda_graph_barrier(gpu, error) : SPY_OK;
    void *level = graph->level;
    if (status != SPY_OK) return status;
    if (!spyi_cuda_graph_grow(gpu, &level, &graph->level_capacity, graph->level_count,
                              sizeof *graph->level)) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    graph->level = (spyi_cu_node *)level;
    return SPY_OK;
}

static spy_status spyi_cuda_graph_added(spyi_cuda_gpu *gpu, spyi_cu_node node, spyi_cu_result result,
                                        const char *what, spyi_text *error) {
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, what, error);
    gpu->graph->level[gpu->graph->level_count++] = node;
    return SPY_OK;
}

// >>copies, fills and marks

SPYI_FN spy_status spyi_cuda_graph_copy(spyi_cuda_gpu *gpu, spyi_cu_pointer to, spyi_cu_pointer from,
                                        uint64_t size, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    uint64_t done, piece;
    for (done = 0; done < size; done += piece) {
        spyi_cu_copy_params params;
        spyi_cu_node node = NULL;
        spyi_cu_result result;
        spy_status status = spyi_cuda_graph_room(gpu, barrier && done == 0, error);
        if (status != SPY_OK) return status;
        piece = size - done < SPYI_CUDA_GRAPH_PIECE ? size - done : SPYI_CUDA_GRAPH_PIECE;
        memset(&params, 0, sizeof params);
        params.from.memory_type = params.to.memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
        params.from.device = from + done;
        params.to.device = to + done;
        params.width_bytes = (size_t)piece;
        params.height = params.depth = 1;
        result = gpu->cu.GraphAddMemcpyNode(&node, graph->graph, graph->before, graph->before_count, &params,
                                            gpu->context);
        status = spyi_cuda_graph_added(gpu, node, result, "cuGraphAddMemcpyNode", error);
        if (status != SPY_OK) return status;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_graph_fill(spyi_cuda_gpu *gpu, spyi_cu_pointer to, uint64_t size,
                                        uint32_t pattern, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    uint64_t done, piece;
    for (done = 0; done < size; done += piece) {
        spyi_cu_fill_params params;
        spyi_cu_node node = NULL;
        spyi_cu_result result;
        spy_status status = spyi_cuda_graph_room(gpu, barrier && done == 0, error);
        if (status != SPY_OK) return status;
        piece = size - done < SPYI_CUDA_GRAPH_PIECE ? size - done : SPYI_CUDA_GRAPH_PIECE;
        memset(&params, 0, sizeof params);
        params.to = to + done;
        params.value = pattern;
        params.element_size = 4;
        params.width = (size_t)(piece / 4);
        params.height = 1;
        result = gpu->cu.GraphAddMemsetNode(&node, graph->graph, graph->before, graph->before_count, &params,
                                            gpu->context);
        status = spyi_cuda_graph_added(gpu, node, result, "cuGraphAddMemsetNode", error);
        if (status != SPY_OK) return status;
    }
    return SPY_OK;
}

static spy_status spyi_cuda_graph_add_kernel(spyi_cuda_gpu *gpu, const spyi_cu_kernel_params *params,
                                             spyi_cu_node *node, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    spyi_cu_result result =
        gpu->cu.GraphAddKernelNode(node, graph->graph, graph->before, graph->before_count, params);
    return spyi_cuda_graph_added(gpu, *node, result, "cuGraphAddKernelNode", error);
}

SPYI_FN spy_status spyi_cuda_graph_mark(spyi_cuda_gpu *gpu, spyi_cu_function function, spyi_cu_pointer place,
                                        spyi_text *error) {
    spyi_cu_kernel_params params;
    spyi_cu_node node = NULL;
    void *values[1];
    spy_status status = spyi_cuda_graph_room(gpu, true, error);
    values[0] = &place;
    memset(&params, 0, sizeof params);
    params.function = function;
    params.grid[0] = params.grid[1] = params.grid[2] = 1;
    params.block[0] = params.block[1] = params.block[2] = 1;
    params.params = values;
    return status == SPY_OK ? spyi_cuda_graph_add_kernel(gpu, &params, &node, error) : status;
}

// >>dispatches

// Fills `params`, the driver's description of a dispatch. The caller provides `values` and `address`, which
// must be valid as long as `params`.
static spy_status spyi_cuda_graph_params(spyi_cuda_gpu *gpu, const spyi_cuda_node *node,
                                         const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                         spyi_cu_pointer *address, void *values[SPYI_CUDA_MOST_PARAMS],
                                         spyi_cu_kernel_params *params, spyi_text *error) {
    const spyi_cuda_kernel *kernel = node->kernel;
    memset(own, 0, sizeof *own);
    own->at = node->memory;
    *params = spyi_cuda_node_params(kernel, node->groups, values);
    return spyi_cuda_params(gpu, kernel, dispatch, own, address, values, error);
}

// Adds a copy of the kernel's global parameters. All launches of a kernel read them at one address, so each
// launch waits for the launch before.
static spy_status spyi_cuda_graph_globals(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                          const spyi_cuda_own *own, spyi_text *error) {
    spy_status status = spyi_cuda_graph_barrier(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_copy(gpu, kernel->globals, own->globals, own->globals_size, false, error);
    return status == SPY_OK ? spyi_cuda_graph_barrier(gpu, error) : status;
}

SPYI_FN spy_status spyi_cuda_graph_dispatch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                            const spyi_dispatch *dispatch, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    size_t size = spyi_cuda_param_memory(kernel, dispatch);
    void *nodes = graph->nodes, *values[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_kernel_params params;
    spyi_cuda_own own;
    char *unused;
    spy_status status = spyi_cuda_graph_room(gpu, dispatch->work.before.barrier, error);
    if (status != SPY_OK) return status;
    if (!spyi_cuda_graph_grow(gpu, &nodes, &graph->capacity, graph->count, sizeof *graph->nodes)) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    graph->nodes = (spyi_cuda_node *)nodes;
    spyi_cuda_node *node = &graph->nodes[graph->count];
    memset(node, 0, sizeof *node);
    node->kernel = kernel;
    memcpy(node->groups, dispatch->groups, sizeof node->groups);
    if (size > 0) status = spyi_cuda_take_from(gpu, &graph->pages, size, &unused, &node->memory, error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_params(gpu, node, dispatch, &own, &address, values, &params, error);
    if (status == SPY_OK && own.globals != 0) status = spyi_cuda_graph_globals(gpu, kernel, &own, error);
    if (status == SPY_OK) status = spyi_cuda_graph_room(gpu, false, error);
    if (status == SPY_OK) status = spyi_cuda_graph_add_kernel(gpu, &params, &node->node, error);
    if (status != SPY_OK) {
        spyi_text_add(error, " for kernel '%s'", kernel->label);
        return status;
    }
    graph->count++;
    return size > 0 ? spyi_cuda_worked(gpu, error) : SPY_OK; // counts the copies of its parameters to the
                                                             // device
}

SPYI_FN spy_status spyi_cuda_graph_change(spyi_gpu *base, spyi_graph *handle, uint32_t index,
                                          const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_graph *graph = spyi_cuda_graph_cast(handle);
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    const spyi_cuda_node *node = &graph->nodes[index];
    void *values[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_kernel_params params;
    spyi_cuda_own own;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    // The node's memory would get the new parameters when the program's graph is launched.
    if (status == SPY_OK && node->memory != 0)
        status =
            spyi_cuda_check_captured(gpu, "change the parameters of a command list's kernel through", error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_params(gpu, node, dispatch, &own, &address, values, &params, error);
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.GraphExecKernelNodeSetParams(graph->exec, node->node, &params);
        if (result != SPYI_CU_OK) {
            status = spyi_cuda_fail(gpu, result, "cuGraphExecKernelNodeSetParams", error);
            spyi_text_add(error, " for kernel '%s'", node->kernel->label);
        }
    }
    if (status == SPY_OK && node->memory != 0) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>the graph

// Frees the graph. Launches in flight continue without the driver's objects; the pages that they read are
// returned when the open batch has finished.
static void spyi_cuda_graph_free(spyi_cuda_gpu *gpu, spyi_cuda_graph *graph) {
    spyi_cuda_page **end = &gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].pages;
    int mode = spyi_cuda_relax(gpu);
    if (graph->exec != NULL) (void)gpu->cu.GraphExecDestroy(graph->exec);
    if (graph->graph != NULL) (void)gpu->cu.GraphDestroy(graph->graph);
    spyi_cuda_restore(gpu, mode);
    while (*end != NULL) end = &(*end)->next;
    *end = graph->pages;
    spyi_free(gpu->base.ctx, graph->nodes, graph->capacity * sizeof *graph->nodes);
    spyi_free(gpu->base.ctx, graph->level, graph->level_capacity * sizeof *graph->level);
    spyi_free(gpu->base.ctx, graph, sizeof *graph);
}

SPYI_FN spy_status spyi_cuda_graph_begin(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cuda_graph *graph;
    spyi_cu_result result;
    bool pushed;
    if (status != SPY_OK) return status;
    graph = (spyi_cuda_graph *)spyi_allocate(gpu->base.ctx, sizeof *graph);
    if (graph == NULL) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    pushed = spyi_cuda_enter(gpu);
    result = gpu->cu.GraphCreate(&graph->graph, 0);
    if (result == SPYI_CU_OK) gpu->graph = graph;
    else {
        status = spyi_cuda_fail(gpu, result, "cuGraphCreate", error);
        spyi_cuda_graph_free(gpu, graph);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_graph_end(spyi_gpu *base, spyi_graph **out, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_graph *graph = gpu->graph;
    spy_status status = SPY_OK;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    gpu->graph = NULL;
    if (out != NULL) {
        spyi_cu_result result = gpu->cu.GraphInstantiate(&graph->exec, graph->graph, 0);
        *out = (spyi_graph *)(void *)graph;
        if (result != SPYI_CU_OK) {
            *out = NULL;
            status = spyi_cuda_fail(gpu, result, "cuGraphInstantiateWithFlags", error);
            spyi_text_add(error, " for a graph of %u kernels", graph->count);
        }
    }
    if (out == NULL || status != SPY_OK) spyi_cuda_graph_free(gpu, graph);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN spy_status spyi_cuda_graph_launch(spyi_gpu *base, spyi_graph *handle, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_graph *graph = spyi_cuda_graph_cast(handle);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    uint32_t i = graph->count > SPYI_CUDA_RECENT ? graph->count - SPYI_CUDA_RECENT : 0;
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.GraphLaunch(graph->exec, gpu->stream);
        if (result != SPYI_CU_OK) {
            status = spyi_cuda_fail(gpu, result, "cuGraphLaunch", error);
            spyi_text_add(error, " for a graph of %u kernels", graph->count);
        }
    }
    if (status == SPY_OK) {
        gpu->base.stats.dispatches += i; // spyi_cuda_launched() counts the other dispatches
        for (; i < graph->count; i++) spyi_cuda_launched(gpu, graph->nodes[i].kernel);
        status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN void spyi_cuda_graph_destroy(spyi_gpu *base, spyi_graph *handle) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spyi_cuda_graph_free(gpu, spyi_cuda_graph_cast(handle));
    spyi_cuda_leave(gpu, pushed);
}
