// Computes how many groups of threads a launch has. More groups than the device takes in one dimension are
// folded into two.
#include "call/launch.h"

// Computes the groups of a dispatch from the caller's number of threads in x, y and z. Groups of a plain
// function are folded if one dimension exceeds the device's limit.
static spy_status spyi_launch_threads(const spyi_threads *threads, const spyi_limits *limits,
                                      spyi_launch *launch, spyi_text *error) {
    uint64_t total = 1, most = spyi_most_rows(&limits->profile);
    bool none = false, wraps = false; // kernels number threads and groups with 32 bits
    for (int i = 0; i < 3; i++) {
        uint64_t groups = ((uint64_t)threads->count[i] + threads->group[i] - 1) / threads->group[i];
        if (threads->counts) groups = 1;
        if (groups > (i ? most : limits->info.max_group_count)) launch->key.folded = 1;
        launch->groups[i] = (uint32_t)groups;
        none = none || groups == 0;
        wraps = wraps || groups * threads->group[i] > (uint64_t)1 << 32;
        total = total > most * most ? total : total * groups;
    }
    memcpy(launch->thread_groups, launch->groups, sizeof launch->groups);
    if (none) launch->count = 0;
    if (none || (!launch->key.folded && !wraps)) return SPY_OK;
    if (wraps) {
        spyi_text_add(
            error,
            "a dispatch of %u x %u x %u threads in groups of %u x %u x %u: whole groups have more than "
            "2^32 threads in one dimension",
            threads->count[0], threads->count[1], threads->count[2], threads->group[0], threads->group[1],
            threads->group[2]);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (threads->shader) {
        spyi_text_add(error,
                      "a dispatch of %u x %u x %u groups is more than the device's %u (%llu in y and z), and "
                      "a shader's "
                      "groups cannot be counted otherwise",
                      launch->groups[0], launch->groups[1], launch->groups[2], limits->info.max_group_count,
                      (unsigned long long)most);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (total > most * most) {
        spyi_text_add(error, "a dispatch of %u x %u x %u groups is more than %llu in all", launch->groups[0],
                      launch->groups[1], launch->groups[2], (unsigned long long)(most * most));
        return SPY_ERROR_OUT_OF_RANGE;
    }
    launch->groups[0] = (uint32_t)most;
    launch->groups[1] = (uint32_t)((total + most - 1) / most);
    launch->groups[2] = 1;
    return SPY_OK;
}

// Computes the groups of a pass that sums gradients, and folds them if they exceed the device's limit.
static spy_status spyi_launch_sums(const spyi_limits *limits, spyi_launch *launch, spyi_text *error) {
    uint64_t most = spyi_most_rows(&limits->profile), groups = launch->team_groups;
    if (groups > most * most) {
        spyi_text_add(error, "its gradients are %u sums, which is more than one call can make", launch->sums);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    bool many = groups > limits->info.max_group_count;
    launch->key.folded = many || launch->plain;
    launch->groups[0] = (uint32_t)(many ? most : groups);
    launch->groups[1] = (uint32_t)((groups + launch->groups[0] - 1) / launch->groups[0]);
    launch->groups[2] = 1;
    return SPY_OK;
}

SPYI_FN uint32_t spyi_launch_steps(const spyi_launch *launch, uint32_t dim) {
    const spyi_variant_key *key = &launch->key;
    uint32_t size = (uint32_t)launch->dims[dim];
    if (!key->tile || (dim != key->turn && dim + 1u != key->rank)) return size;
    return (size + key->tile - 1) / key->tile;
}

SPYI_FN uint32_t spyi_batch_groups(const spyi_batch *batch, const spyi_limits *limits, int64_t count) {
    int64_t at_once = (int64_t)limits->info.multiprocessor_count * batch->resident,
            tiles = (count + batch->rows - 1) / batch->rows;
    return (uint32_t)(tiles < at_once ? tiles : at_once);
}

SPYI_FN spy_status spyi_launch_groups(const spyi_bound *b, const spyi_values *values,
                                      const spyi_limits *limits, const uint32_t *group, spyi_launch *launch,
                                      spyi_text *error) {
    if (launch->key.team) return spyi_launch_sums(limits, launch, error);
    if (launch->key.batch == SPYI_BATCH_ENGINE) {
        const spyi_batch *batch = &b->batch;
        launch->groups[0] =
            launch->key.finishes ? (batch->sums + 31) / 32 : spyi_batch_groups(batch, limits, launch->count);
        launch->groups[1] = launch->groups[2] = 1;
        launch->key.folded = 0;
        return SPY_OK;
    }
    if (values->threads) return spyi_launch_threads(values->threads, limits, launch, error);
    int64_t per_group =
        (int64_t)spyi_group_size(b, &limits->profile, launch->rank) * launch->key.width * launch->key.unroll;
    int64_t threads = launch->count;
    for (uint32_t d = 0; d < launch->rank && launch->key.grouped; d++) // the launch has complete call groups
        threads = (d ? threads : 1) * ((launch->dims[d] + group[d] - 1) / group[d]) * group[d];
    // Kernels number threads with 32 bits, also the threads of the last row of groups, which may be
    // incomplete.
    if (threads > UINT32_MAX - (1 << 26)) {
        spyi_text_add(error, "the call has shape ");
        spyi_shape_text(&launch->shape, error);
        spyi_text_add(error,
                      ", whose whole call groups have %lld elements, which is more than one call can have",
                      (long long)threads);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    int64_t groups = (threads + per_group - 1) / per_group, most = limits->info.max_group_count;
    for (uint32_t d = 0; d < launch->rank && launch->key.tile; d++) // a group has a tile
        groups = (d ? groups : 1) * spyi_launch_steps(launch, d);
    spyi_rooms rooms;
    if (launch->key.batch == SPYI_BATCH_ROOMS && spyi_rooms_of(b, limits, &rooms)) {
        int64_t at_once = (int64_t)limits->info.multiprocessor_count * rooms.resident;
        if (groups > at_once) groups = at_once;
    }
    launch->key.folded = groups > most || launch->plain;
    launch->groups[0] = (uint32_t)(groups > most ? most : groups);
    launch->groups[1] = (uint32_t)((groups + launch->groups[0] - 1) / launch->groups[0]);
    launch->groups[2] = 1;
    return SPY_OK;
}
