// Repeats a call of several dispatches: one by one or, where that is faster, as a graph that is launched as
// one piece of work. The graph is made at the call's fourth repetition and holds memory of the driver as long
// as the launch is kept. Before each launch it gets those blocks that have changed.
#include "call/again.h"

#define SPYI_AGAIN_GRAPH_AFTER 4u
#define SPYI_AGAIN_MOST_GRAPHS 64u // most graphs of one device; each holds 116 KiB of an H200's memory

static inline void spyi_again_step_dispatch(const spyi_again_step *step, spyi_dispatch *dispatch) {
    dispatch->work = spyi_work_of(spyi_work_dispatch());
    dispatch->kernel = step->variant->kernel;
    dispatch->block = step->block;
    dispatch->bindings = NULL;
    dispatch->uniforms = NULL;
    memcpy(dispatch->groups, step->groups, sizeof dispatch->groups);
    dispatch->indirect = dispatch->indirect_offset = 0;
}

// Runs one dispatch with the uses of its leaves, which are some of the call's uses, and of its sums.
static spy_status spyi_again_run_step(spyi_plan *plan, const spyi_again_step *step, const spyi_use *all_uses,
                                      spyi_storage *sums, spyi_text *error) {
    spyi_use uses[SPYI_MOST_MEMORY_LEAVES + 1];
    spyi_dispatch dispatch;
    uint32_t count = 0;
    for (; count < step->use_count; count++) uses[count] = all_uses[step->uses[count]];
    if (step->sums_bytes)
        uses[count++] = spyi_use_of(&sums->resource, 0, step->sums_bytes,
                                    step->finishes ? SPYI_USE_READS : SPYI_USE_WRITES);
    spyi_again_step_dispatch(step, &dispatch);
    spy_device *device = plan->function->object.device;
    spy_status status = spyi_record_with(device, &dispatch.work, uses, count, false, error);
    plan->last_submit = device->last_submit;
    return status;
}

// Runs all dispatches. With `in_line` each dispatch waits for the one before it, whatever memory they use.
static spy_status spyi_again_one_by_one(spyi_plan *plan, const spyi_use *uses, spyi_storage *sums,
                                        bool in_line, spyi_text *error) {
    spyi_again *again = plan->launch->again;
    const uint32_t last = again->step_count - 1;
    spy_status status = SPY_OK;
    again->reversed = again->any_order && !in_line && !again->reversed;
    for (uint32_t i = 0; i <= last && status == SPY_OK; i++) {
        if (in_line) plan->function->object.device->barrier_owed = true;
        status = spyi_again_run_step(plan, &again->steps[again->reversed ? last - i : i], uses, sums, error);
    }
    return status;
}

// Records the dispatches into a graph, for the launch that follows. They are recorded in line: CUDA launches
// such a graph in the time of one dispatch, but needs nearly twice as long if two of its dispatches may run
// side by side (docs/measurements.md, "Launches of CUDA kernels"). If no graph can be made, the call's
// dispatches run one by one from then on.
static void spyi_again_make_graph(spyi_plan *plan, const spyi_use *uses, spyi_storage *sums) {
    spy_device *device = plan->function->object.device;
    spyi_launch *launch = plan->launch;
    spyi_text ignored = { NULL, 0, 0 };
    spy_status status = device->backend->graph_begin(device->gpu, &ignored);
    if (status == SPY_OK) {
        status = spyi_again_one_by_one(plan, uses, sums, true, &ignored);
        if (status == SPY_OK) status = device->backend->graph_end(device->gpu, &launch->graph, &ignored);
        else (void)device->backend->graph_end(device->gpu, NULL, &ignored);
    }
    spyi_text_free(&ignored);
    if (launch->graph) device->launch_graphs++;
    for (uint32_t i = 0; i < launch->again->step_count && status == SPY_OK; i++)
        memcpy(launch->again->steps[i].launched, launch->again->steps[i].block,
               launch->again->steps[i].variant->emitted.block_size);
}

static spy_status spyi_again_launch(spyi_plan *plan, const spyi_use *uses, uint32_t use_count,
                                    spyi_text *error) {
    spy_device *device = plan->function->object.device;
    const spyi_launch *launch = plan->launch;
    for (uint32_t i = 0; i < launch->again->step_count; i++) {
        const spyi_again_step *step = &launch->again->steps[i];
        uint32_t size = step->variant->emitted.block_size;
        spyi_dispatch dispatch;
        if (memcmp(step->launched, step->block, size) == 0) continue;
        spyi_again_step_dispatch(step, &dispatch);
        spy_status status =
            device->backend->graph_change(device->gpu, launch->graph, i, &dispatch.work, error);
        if (status != SPY_OK) return status;
        memcpy(step->launched, step->block, size);
    }
    spyi_before before = spyi_take_uses(device, uses, use_count, false);
    plan->last_submit = device->last_submit;
    spy_status status = device->backend->graph_launch(device->gpu, launch->graph, error);
    spyi_uses_done(device, &before, false, status);
    return status;
}

// Writes the address of the sums into the blocks of the dispatches that leave or read them.
static void spyi_again_place_sums(const spyi_again *again, const spyi_storage *sums) {
    for (uint32_t i = 0; i < again->step_count; i++) {
        const spyi_again_step *step = &again->steps[i];
        for (uint32_t k = step->sum; k < step->sum_end; k++) {
            uint64_t address = sums->chunk.address + sums->offset + again->sums[k].at;
            memcpy(step->block + again->sums[k].offset, &address, 8);
        }
    }
}

SPYI_FN SPYI_NOINLINE spy_status spyi_again_run_steps(spyi_plan *plan, spyi_use *uses, uint32_t use_count,
                                                      spyi_text *error) {
    spyi_launch *launch = plan->launch;
    spyi_again *again = launch->again;
    spy_device *device = plan->function->object.device;
    spy_status status = SPY_OK;
    spyi_storage *sums = NULL;
    if (again->sums_bytes) {
        sums = spyi_pool_take(device, SPYI_MEMORY_DEVICE, again->sums_bytes, "slangpy sums", error, &status);
        if (!sums) return status;
        spyi_again_place_sums(again, sums);
        uses[use_count++] =
            spyi_use_of(&sums->resource, 0, again->sums_bytes, SPYI_USE_READS | SPYI_USE_WRITES);
    }
    spyi_watch(device->base);
    bool pays = device->backend->graph_pays && device->backend->graph_pays(device->gpu);
    if (pays && !launch->graph && device->launch_graphs < SPYI_AGAIN_MOST_GRAPHS &&
        ++again->runs == SPYI_AGAIN_GRAPH_AFTER)
        spyi_again_make_graph(plan, uses, sums);
    status = pays && launch->graph ? spyi_again_launch(plan, uses, use_count, error)
                                   : spyi_again_one_by_one(plan, uses, sums, false, error);
    if (sums) spyi_pool_give(device, sums);
    return status;
}
