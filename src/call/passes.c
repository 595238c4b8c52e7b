// Divides a backward call into passes. A gradient that no two elements share is added to by each element's
// thread. Of the gradients that elements share, one pass sums those that are shared along the same dimensions
// (emit/team.c says how). A gradient that is shared along other dimensions gets another pass, and so does one
// that shares memory with a gradient of the pass but is walked in another way. All decisions depend only on
// shapes and the device (the decisions of width.c also on how memory is aligned), so that the order of sums
// stays the same.
#include "call/launch.h"
#include "data/scalars.h"

// Figures for an NVIDIA H200 and for CPUs: the number of groups that fill the device, the least elements for
// each thread, and (SPYI_TEAM_LONG) the elements for each thread below which a team gets smaller.
#define SPYI_TEAM_GROUPS SPYI_TUNED("GROUPS", 2048)
#define SPYI_TEAM_GROUPS_CPU 64u
#define SPYI_TEAM_ELEMENTS 8u
#define SPYI_TEAM_ELEMENTS_CPU 64u
#define SPYI_TEAM_LONG SPYI_TUNED("LONG", 32)
// The elements of the largest vector (call/width.c), and of one step of each thread in a long part.
#define SPYI_TEAM_STEP 16u
// Neighbouring threads that read neighbouring elements: 32 fill one access of 128 bytes on GPUs. On CPUs, a
// team whose elements are neighbours has 16 threads, each of which reads along its row.
#define SPYI_TEAM_SIDE SPYI_TUNED("SIDE", 32)
#define SPYI_TEAM_INNER_CPU 16u

// >>which gradients go together

static bool spyi_share_memory(const spyi_bound *b, const spyi_values *values, uint32_t i, uint32_t j) {
    return (b->leaves[i].traits & b->leaves[j].traits & SPYI_TRAIT_TENSOR) &&
           spyi_tensors_overlap(values->items[b->leaves[i].value].tensor,
                                values->items[b->leaves[j].value].tensor);
}

static bool spyi_same_places(const spyi_bound *b, const spyi_launch *launch, uint32_t i, uint32_t j) {
    const spyi_launch_leaf *p = &launch->leaves[i], *q = &launch->leaves[j];
    return p->offset == q->offset && p->memory_size == q->memory_size &&
           launch->key.walk[i] == launch->key.walk[j] && b->leaves[i].type == b->leaves[j].type &&
           memcmp(p->strides, q->strides, sizeof p->strides) == 0 &&
           memcmp(p->inner, q->inner, b->leaves[i].consumed * sizeof *p->inner) == 0;
}

// Returns whether gradient `i` can be added to in the pass. Sets pass->together if it shares memory with a
// gradient of the pass.
static bool spyi_joins(const spyi_bound *b, const spyi_values *values, const spyi_launch *launch,
                       spyi_pass *pass, uint32_t i) {
    bool together = false;
    for (uint32_t j = 0; j < b->leaf_count; j++) {
        if (!(pass->adds >> j & 1) || !spyi_share_memory(b, values, i, j)) continue;
        if (!spyi_same_places(b, launch, i, j)) return false;
        together = true;
    }
    pass->together = pass->together || together;
    return true;
}

// Merges the pass of gradients that no two elements share into a pass that sums, unless the two share memory.
static void spyi_merge_passes(const spyi_bound *b, const spyi_values *values, spyi_launch *launch) {
    uint32_t own = 0, other = 0;
    while (own < launch->pass_count && launch->passes[own].shared) own++;
    while (other < launch->pass_count && !launch->passes[other].shared) other++;
    if (own == launch->pass_count || other == launch->pass_count) return;
    spyi_pass *from = &launch->passes[own], *to = &launch->passes[other];
    for (uint32_t i = 0; i < b->leaf_count; i++)
        for (uint32_t j = 0; j < b->leaf_count; j++)
            if ((from->adds >> i & 1) && (to->adds >> j & 1) && spyi_share_memory(b, values, i, j)) return;
    to->adds |= from->adds;
    to->together = to->together || from->together;
    launch->pass_count--;
    memmove(from, from + 1, (launch->pass_count - own) * sizeof *from);
}

// Returns SPY_ERROR_UNSUPPORTED if the call stores the gradient `i`, and elements of the call have a place in
// it together, or places of another gradient. `shared` has the dimensions along which they do.
static spy_status spyi_check_not_shared(const spyi_bound *b, const spyi_values *values, uint32_t i,
                                        uint32_t shared, spyi_text *error) {
    bool meets = shared != 0;
    if (b->leaves[i].in) return SPY_OK;
    for (uint32_t j = 0; j < b->leaf_count; j++)
        meets = meets || (j != i && b->leaves[j].role == SPYI_ROLE_ADDED && spyi_share_memory(b, values, i, j));
    if (!meets) return SPY_OK;
    spyi_text_add(error, "its option store_gradients: '%s' is a sum of what several elements give",
                  b->leaves[i].path);
    return SPY_ERROR_UNSUPPORTED;
}

static bool spyi_leaf_has_dim(const spyi_leaf *leaf, uint32_t dim) {
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        if (leaf->map[d] == dim) return true;
    return false;
}

SPYI_FN spy_status spyi_launch_passes(const spyi_bound *b, const spyi_values *values, spyi_launch *launch,
                                      spyi_text *error) {
    launch->pass_count = 0;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (b->leaves[i].role != SPYI_ROLE_ADDED) continue;
        uint32_t shared = 0, p = 0;
        for (uint32_t d = 0; d < launch->shape.rank; d++)
            if ((launch->shape.dims[d] > 1 && launch->leaves[i].strides[d] == 0) ||
                (launch->plain &&
                 !spyi_leaf_has_dim(&b->leaves[i], d))) // dimensions of size 1 count too, so that the
                                                        // order is the same for all sizes
                shared |= 1u << d;
        spy_status status = spyi_check_not_shared(b, values, i, shared, error);
        if (status != SPY_OK) return status;
        while (p < launch->pass_count &&
               (launch->passes[p].shared != shared || !spyi_joins(b, values, launch, &launch->passes[p], i)))
            p++;
        if (p == SPYI_MOST_PASSES) {
            spyi_text_add(error, "its gradients are shared in more than %d ways", SPYI_MOST_PASSES);
            return SPY_ERROR_UNSUPPORTED;
        }
        if (p == launch->pass_count) {
            memset(&launch->passes[p], 0, sizeof launch->passes[p]);
            launch->passes[p].shared = shared;
            launch->pass_count++;
        }
        launch->passes[p].adds |= (uint64_t)1 << i;
        if (shared) launch->passes[p].sums |= (uint64_t)1 << i;
    }
    spyi_merge_passes(b, values, launch);
    if (launch->pass_count == 0) { // only tensors that are passed whole have gradients, and the function
                                   // itself adds to them
        memset(&launch->passes[0], 0, sizeof launch->passes[0]);
        launch->pass_count = 1;
    }
    return SPY_OK;
}

// >>teams

static uint32_t spyi_power_of_two(int64_t n, uint32_t most) { // returns the least power of two that is at
                                                              // least n, but no more than `most`
    uint32_t power = 1;
    while (power < most && power < n) power *= 2;
    return power;
}

// Rounds up the length of a part, so that no vector lies in two parts, and the threads of a long part have
// complete steps.
static uint64_t spyi_part_length(uint64_t length, uint64_t team) {
    uint64_t unit = team * SPYI_TEAM_STEP;
    if (length < 4 * unit && team % SPYI_TEAM_STEP == 0) unit = team;
    else if (length < 4 * unit && SPYI_TEAM_STEP % team == 0) unit = SPYI_TEAM_STEP;
    return (length + unit - 1) / unit * unit;
}

// Chooses how many threads a team has, and into how many parts a sum is divided.
static void spyi_choose_teams(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const spyi_pass *pass = &launch->passes[launch->pass];
    uint32_t group = spyi_group_size(b, &limits->profile, 1), team, side;
    bool cpu = limits->profile.prefers_bindings;
    uint64_t sums = 1, each = 1;
    launch->key.inner = 0;
    for (uint32_t d = 0; d < launch->shape.rank; d++) {
        uint64_t size = (uint64_t)launch->shape.dims[d];
        if (pass->shared >> d & 1) each *= size;
        else sums *= size;
        if (size > 1) launch->key.inner = pass->shared >> d & 1;
    }
    for (int step = 0; step < 2; step++) { // step 0 sums elements to parts, step 1 sums the parts
        if (step) {
            each = launch->parts;
            launch->key.inner = 0;
        }
        if ((group & (group - 1)) || launch->plain) {
            team = group;
            launch->key.inner = 1;
        } else if (launch->key.inner) {
            team = spyi_power_of_two(
                (int64_t)each, cpu && sums > 1 && SPYI_TEAM_INNER_CPU < group ? SPYI_TEAM_INNER_CPU : group);
            // Gives a sum fewer threads as long as the groups fill the device: each thread then adds up more
            // elements before the team's reduction.
            while (!cpu && team > SPYI_TEAM_SIDE && each / team < SPYI_TEAM_LONG &&
                   sums / (2 * group / team) >= SPYI_TEAM_GROUPS)
                team /= 2;
        } else {
            side = spyi_power_of_two((int64_t)sums, !cpu && SPYI_TEAM_SIDE < group ? SPYI_TEAM_SIDE : group);
            team = spyi_power_of_two((int64_t)each, group / side);
        }
        side = group / team;
        launch->key.team = SPYI_WHOLE_TEAM;
        for (uint32_t p = 0; p < 11 && !(group & (group - 1)) && !launch->plain; p++)
            if (1u << p == team) launch->key.team = (uint8_t)(p + 1);
        uint64_t groups = (sums + side - 1) / side, most = cpu ? SPYI_TEAM_GROUPS_CPU : SPYI_TEAM_GROUPS,
                 least = (uint64_t)team * (cpu ? SPYI_TEAM_ELEMENTS_CPU : SPYI_TEAM_ELEMENTS);
        uint64_t parts = step || launch->plain || groups >= most ? 1 : most / groups;
        if (parts > (each + least - 1) / least) parts = (each + least - 1) / least;
        uint64_t length = (each + parts - 1) / parts;
        length = (length + team - 1) / team * team;
        if (parts > 1) length = spyi_part_length(length, team);
        parts = (each + length - 1) / length;
        launch->sums = (uint32_t)sums;
        launch->each = (uint32_t)each;
        launch->length = (uint32_t)length;
        if (!step) launch->parts = (uint32_t)parts;
        launch->team_groups = groups * parts;
        launch->team_parts = (uint32_t)parts;
        if (!launch->finishes) break;
    }
}

// Returns whether the parts of a sum may be added to the gradient atomically.
static bool spyi_adds_atomically(const spyi_bound *b, const spyi_limits *limits, const spyi_launch *launch,
                                 uint32_t i) {
    const spyi_type *type = b->leaves[i].type;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return !b->options.deterministic &&
           (b->combine == SPYI_COMBINE_MIN || b->combine == SPYI_COMBINE_MAX ||
            (limits->info.features & SPY_FEATURE_ATOMIC_FLOAT32_ADD)) &&
           type->kind != SPYI_TYPE_STRUCT && type->scalar == SPY_DTYPE_FLOAT32 &&
           !(launch->key.walk[i] & SPYI_WALK_GATHER) && !(b->leaves[i].traits & SPYI_TRAIT_ONE_PLACE);
}

SPYI_FN void spyi_launch_teams(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch) {
    const spyi_pass *pass = &launch->passes[launch->pass];
    launch->leaves_sums = false;
    launch->sums_bytes = 0;
    launch->key.together = pass->together;
    launch->key.finishes = launch->finishes;
    if (pass->shared) spyi_choose_teams(b, limits, launch);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool added = leaf->role == SPYI_ROLE_ADDED, mine = added && (pass->adds >> i & 1);
        if (!mine) {
            if (added || (launch->finishes && spyi_leaf_in_memory(leaf)))
                launch->key.walk[i] = SPYI_WALK_SKIPPED;
            continue;
        }
        if (!(pass->sums >> i & 1)) {
            if (launch->finishes) launch->key.walk[i] = SPYI_WALK_SKIPPED;
            continue;
        }
        bool atomic = launch->parts > 1 && spyi_adds_atomically(b, limits, launch, i),
             left = launch->parts > 1 && !atomic;
        if (left) {
            launch->sums_bytes = spyi_align((size_t)launch->sums_bytes, 16);
            launch->leaves[i].sums_offset = launch->sums_bytes;
            launch->sums_bytes += (uint64_t)launch->parts * launch->sums * spyi_type_scalars(leaf->type) *
                                  spy_dtype_size_bytes(spyi_sum_scalar(leaf->type));
            launch->leaves_sums = true;
        }
        if (launch->finishes)
            launch->key.walk[i] =
                (uint8_t)(left ? launch->key.walk[i] | SPYI_WALK_SUMMED : SPYI_WALK_SKIPPED);
        else if (left) launch->key.walk[i] = SPYI_WALK_SKIPPED | SPYI_WALK_SUMMED;
        else
            launch->key.walk[i] =
                (uint8_t)(launch->key.walk[i] | SPYI_WALK_SUMMED | (atomic ? SPYI_WALK_ATOMIC : 0u));
    }
}

// >>the order of dimensions

SPYI_FN uint32_t spyi_launch_order(const spyi_bound *b, spyi_launch *launch, int64_t *sizes,
                                   uint32_t *count) {
    const spyi_pass *pass = &launch->passes[launch->pass];
    uint32_t order[SPY_MAX_RANK], n = 0, kept;
    spy_shape row_major = spyi_row_major(&launch->shape);
    bool turned = false;
    for (uint32_t d = 0; d < launch->shape.rank; d++)
        if (!(pass->shared >> d & 1)) order[n++] = d;
    kept = n;
    for (uint32_t d = 0; d < launch->shape.rank && !launch->finishes; d++)
        if (pass->shared >> d & 1) order[n++] = d;
    for (uint32_t d = 0; d < n; d++) {
        turned = turned || order[d] != d;
        sizes[d] = launch->shape.dims[order[d]];
        launch->element_strides[d] = row_major.dims[order[d]];
    }
    launch->key.reordered =
        (turned || launch->plain) && !launch->finishes && (b->uses_library || b->call_info);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        int64_t strides[SPY_MAX_RANK];
        for (uint32_t d = 0; d < n; d++) strides[d] = launch->leaves[i].strides[order[d]];
        memcpy(launch->leaves[i].strides, strides, n * sizeof *strides);
    }
    *count = n;
    return kept;
}

SPYI_FN bool spyi_next_pass(spyi_launch *launch) {
    if (launch->leaves_sums && !launch->finishes) {
        launch->finishes = true;
        return true;
    }
    launch->finishes = false;
    return ++launch->pass < launch->pass_count;
}
