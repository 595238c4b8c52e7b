// Submission of lists. At first a list's operations run one by one. Where the backend has graphs, the second
// submission makes a graph of the list, as it is likely to be submitted often. A launch of the graph is one
// piece of work; it uses the memory of all operations together.
#include "list/list.h"

// >>the uses of all operations

// Adds a use to graph_uses, which has at most one entry for each resource and way of use.
static void spyi_graph_add_use(spy_command_list *list, const spyi_use *use, uint32_t how) {
    spyi_use *at = list->graph_uses, *end = at + list->graph_use_count;
    while (at < end && (at->resource != use->resource || at->how != how)) at++;
    if (at < end) {
        if (use->begin < at->begin) at->begin = use->begin;
        if (use->end > at->end) at->end = use->end;
        return;
    }
    *at = *use;
    at->how = how;
    list->graph_use_count++;
}

static size_t spyi_graph_most_uses(const spy_command_list *list) {
    return 2 * list->use_count + 1; // each use may need two entries, and the timestamps need one
}

static spy_status spyi_graph_collect_uses(spy_command_list *list, spyi_text *error) {
    size_t size = spyi_graph_most_uses(list) * sizeof *list->graph_uses;
    list->graph_uses = (spyi_use *)spyi_allocate(&list->sink.object.device->ctx, size);
    if (!list->graph_uses) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    list->graph_use_count = 0;
    for (size_t i = 0; i < list->use_count; i++) {
        const spyi_use *use = &list->uses[i];
        if (use->how >= SPYI_USE_TEXTURE) {
            spyi_graph_add_use(list, use, use->how);
            continue;
        }
        if (use->how & SPYI_USE_READS) spyi_graph_add_use(list, use, SPYI_USE_READS);
        if (use->how & SPYI_USE_WRITES) spyi_graph_add_use(list, use, SPYI_USE_WRITES);
    }
    if (list->times) {
        const spy_tensor *times = list->times;
        spyi_use use =
            spyi_use_of(&times->storage->resource, times->begin_bytes, times->end_bytes, SPYI_USE_WRITES);
        spyi_graph_add_use(list, &use, SPYI_USE_WRITES);
    }
    list->graph_untracked = false;
    for (size_t i = 0; i < list->op_count; i++)
        list->graph_untracked = list->graph_untracked || list->ops[i].untracked;
    return SPY_OK;
}

// >>the graph

// Returns whether this submission shall make a graph. A single piece of work is as fast without one.
static bool spyi_list_wants_graph(const spy_command_list *list) {
    size_t work = 0;
    if (!list->sink.object.device->backend->graph_begin || list->graph || list->submit_count == 0)
        return false;
    // Indirect dispatches cannot be in a graph, and neither can copies, clears and blits of textures.
    for (size_t i = 0; i < list->use_count; i++)
        if (list->uses[i].how & (SPYI_USE_COUNTS | SPYI_USE_COPIED)) return false;
    for (size_t i = 0; i < list->op_count; i++) work += list->ops[i].plan || list->ops[i].use_count;
    return work > 1;
}

SPYI_FN void spyi_list_drop_graph(spy_command_list *list) {
    spy_device *device = list->sink.object.device;
    if (list->graph) device->backend->graph_destroy(device->gpu, list->graph);
    spyi_free(&device->ctx, list->graph_uses, spyi_graph_most_uses(list) * sizeof *list->graph_uses);
    list->graph = NULL;
    list->graph_uses = NULL;
}

// Records the operations into a graph. Their uses are noted as if they ran now; the launch that follows makes
// that true.
static spy_status spyi_list_make_graph(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    const spy_backend *backend = device->backend;
    spy_status status = spyi_graph_collect_uses(list, error);
    if (status == SPY_OK) status = backend->graph_begin(device->gpu, error);
    if (status == SPY_OK) {
        device->barrier_owed = true; // the barrier orders the operations against each other, not against
                                     // earlier work
        status = spyi_list_run(list, error);
        if (status == SPY_OK) status = backend->graph_end(device->gpu, &list->graph, error);
        else (void)backend->graph_end(device->gpu, NULL, error);
    }
    if (status == SPY_OK) return SPY_OK;
    spyi_text_add(error, "; the list could not be made a graph, and none of it was done");
    spyi_list_drop_graph(list);
    return status;
}

static spy_status spyi_list_launch(spy_command_list *list, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    uint64_t submit = device->base->open;
    for (size_t i = 0; i < list->call_count; i++) list->calls[i].plan->last_submit = submit;
    spyi_before before =
        spyi_take_uses(device, list->graph_uses, list->graph_use_count, list->graph_untracked);
    spy_status status = device->backend->graph_launch(device->gpu, list->graph, error);
    spyi_uses_done(device, &before, list->graph_untracked, status);
    return status;
}

SPYI_FN spy_status spyi_list_submit(spy_command_list *list, spyi_text *error) {
    spyi_gpu_base *base = list->sink.object.device->base;
    spyi_watch(base);
    // A stream that is being captured gets the operations themselves: the program's graph then holds them,
    // even if the list is released.
    if (base->captured) return spyi_list_run(list, error);
    if (spyi_list_wants_graph(list)) {
        spy_status status = spyi_list_make_graph(list, error);
        if (status != SPY_OK) return status;
    }
    return list->graph ? spyi_list_launch(list, error) : spyi_list_run(list, error);
}
