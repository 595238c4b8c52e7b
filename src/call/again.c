// A call that repeats its plan's last one but for storages and numbers, from the arguments straight to the dispatch: nothing
// is described, signed or looked up. Whatever is not as it was goes the long way, which also has the words for what is wrong.
#include "call/run.h"

#define SPYI_NOWHERE UINT16_MAX

// One argument: what must be as it was, and what its value becomes.
typedef struct spyi_again_arg {
    const char *name;      // "": by position
    const spyi_type *type; // of a tensor's elements
    uint8_t kind, direction, dtype;
    uint8_t op;      // spyi_again_op
    uint8_t how;     // what the call does with its memory: SPYI_USE_*
    uint16_t leaf;   // of the plan
    uint16_t offset; // in the block; SPYI_NOWHERE: the kernel has no use for it
} spyi_again_arg;

typedef struct spyi_again {
    const spyi_variant *variant; // that it is about; NULL: the plan's calls cannot repeat in this way
    uint64_t grid;               // spyi_launch_grid() of the device
    spyi_again_arg *args;        // `count`, in this block of memory, and then their names
    uint32_t count;
} spyi_again;

// >>learning

static bool spyi_plain_plan(const spyi_plan *plan, const spyi_values *values) {
    const spyi_options *o = &plan->bound.options;
    return !values->threads && !values->global_count && !values->grad_count && !plan->bound.sizes &&
           plan->bound.leaf_count == values->count && !o->prelude && !o->conformance_count &&
           !o->threads[0] && !o->group.rank && !o->count_rank && o->mode == SPY_CALL_DEFAULT;
}

// Which argument feeds the leaf, and where it goes in the block; false: it does not do.
static bool spyi_again_leaf(const spyi_plan *plan, const spyi_values *values, const spyi_variant *variant,
                            uint32_t leaf, spyi_again_arg *args) {
    const spyi_leaf *l = &plan->bound.leaves[leaf];
    const spyi_value *v = &values->items[l->value];
    spyi_again_arg *a = &args[l->value];
    uint8_t op = l->kind->run->again_op;
    if (op == SPYI_AGAIN_NEVER || v->cast || v->map_count || v->whole || l->untracked || a->name)
        return false;
    a->name = v->name ? v->name : "";
    a->type = v->type;
    a->kind = v->kind;
    a->direction = v->direction;
    a->dtype = (uint8_t)v->arg->dtype;
    a->op = op;
    a->how = (uint8_t)spyi_how(l->in, l->out);
    a->leaf = (uint16_t)leaf;
    a->offset = SPYI_NOWHERE;
    for (uint32_t p = 0; p < variant->emitted.pack_count; p++) {
        const spyi_pack *pack = &variant->emitted.packs[p];
        if (pack->leaf != leaf || pack->op < SPYI_PACK_ADDRESS) continue;
        bool known =
            pack->op == SPYI_PACK_ADDRESS || pack->op == SPYI_PACK_SCALAR || pack->op == SPYI_PACK_INLINE;
        if (!known || a->offset != SPYI_NOWHERE || pack->offset >= SPYI_NOWHERE) return false;
        a->offset = (uint16_t)pack->offset;
    }
    return true;
}

SPYI_FN void spyi_again_learn(spyi_plan *plan, const spyi_values *values, const spyi_variant *variant) {
    spyi_launch *launch = plan->launch;
    if (launch->again && launch->again->variant == variant) return;
    if (!spyi_plain_plan(plan, values) || variant->feeds.count || variant->emitted.prints ||
        variant->emitted.binding_count)
        return;
    free(launch->again);
    launch->again = NULL;
    size_t size = sizeof *launch->again + values->count * sizeof *launch->again->args, names = 0;
    for (uint32_t i = 0; i < values->count; i++)
        names += values->items[i].name ? strlen(values->items[i].name) + 1 : 0;
    spyi_again *again = (spyi_again *)spyi_calloc(1, size + names);
    if (!again) return; // the long way needs none
    again->args = (spyi_again_arg *)(again + 1);
    again->count = values->count;
    again->grid = spyi_launch_grid(&plan->function->object.device->base->limits);
    uint32_t fresh = 0; // new tensors: one is made
    for (uint32_t i = 0; i < plan->bound.leaf_count; i++) {
        fresh += (plan->bound.leaves[i].traits & SPYI_TRAIT_CALL_SHAPED) != 0;
        if (fresh <= 1 && spyi_again_leaf(plan, values, variant, i, again->args)) continue;
        free(again);
        return;
    }
    char *at = (char *)again + size;
    for (uint32_t i = 0; i < again->count; i++) {
        size_t length = strlen(again->args[i].name);
        if (length == 0) {
            again->args[i].name = "";
            continue;
        }
        again->args[i].name = (const char *)memcpy(at, again->args[i].name, length + 1);
        at += length + 1;
    }
    again->variant = variant;
    launch->again = again;
}

// >>repeating

static bool spyi_again_named(const spy_arg *arg, const char *name) {
    const char *given = arg->name ? arg->name : "";
    size_t i = 0;
    for (char c = given[0]; c == name[i]; c = given[i]) {
        if (c == 0) return true;
        i++;
    }
    return false;
}

// The launch's leaf of an argument: its address into the block, and what the call does with its memory.
static void spyi_again_address(const spyi_launch *launch, const spyi_again_arg *a) {
    const spyi_launch_leaf *at = &launch->leaves[a->leaf];
    uint64_t address = at->storage->chunk.address + at->storage->offset + at->begin;
    if (a->offset != SPYI_NOWHERE) memcpy(launch->block + a->offset, &address, 8);
}

static void spyi_again_use(const spyi_launch_leaf *at, const spyi_again_arg *a, spyi_use *use) {
    *use = spyi_use_of(&at->storage->resource, at->begin, at->end, a->how);
}

// Puts the value of an argument that is no tensor into the block.
static bool spyi_again_value(const spyi_leaf *leaf, uint8_t *block, const spyi_again_arg *a,
                             const spy_arg *arg) {
    switch ((spyi_again_op)a->op) {
    case SPYI_AGAIN_NUMBER:
        return (uint8_t)arg->dtype == a->dtype &&
               (a->offset == SPYI_NOWHERE || spyi_pack_scalar(leaf, arg, block + a->offset));
    case SPYI_AGAIN_ARRAY:
        if ((uint8_t)arg->dtype != a->dtype || arg->count != leaf->consumed || !arg->value.data) return false;
        for (uint32_t d = 0; d < leaf->consumed; d++)
            if (arg->dims[d] != leaf->consumed_dims[d]) return false;
        return a->offset == SPYI_NOWHERE || spyi_pack_inline(leaf, arg, block + a->offset);
    default: return a->kind == SPY_ARG_NEW ? arg->value.new_tensor != NULL : arg->value.result != NULL;
    }
}

// Puts one argument's value into the block, or its tensor into the launch and among the uses.
static bool spyi_again_take(const spyi_plan *plan, spyi_launch *launch, const spyi_again_arg *a,
                            const spy_arg *arg, uint64_t grid, spyi_use *uses, uint32_t *use_count) {
    if ((uint8_t)arg->kind != a->kind || (uint8_t)arg->direction != a->direction || arg->type ||
        arg->map_count || !spyi_again_named(arg, a->name))
        return false;
    if (a->op != SPYI_AGAIN_TENSOR)
        return spyi_again_value(&plan->bound.leaves[a->leaf], launch->block, a, arg);
    const spy_tensor *t = arg->value.tensor;
    spyi_launch_leaf *at = &launch->leaves[a->leaf];
    if (!t || t->object.kind != (uint32_t)SPYI_KIND_TENSOR ||
        t->object.device != plan->function->object.device)
        return false;
    if (t->serial != at->serial) { // else even its address stands in the block
        if (t->type != a->type || !spyi_launch_leaf_repeats(at, t, grid)) return false;
        spyi_launch_leaf_take(at, t);
        spyi_again_address(launch, a);
    }
    spyi_again_use(at, a, &uses[(*use_count)++]);
    return true;
}

// An output in the same memory as something else must be looked at closely.
static bool spyi_again_apart(const spyi_use *uses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!(uses[i].how & SPYI_USE_WRITES)) continue;
        for (uint32_t j = 0; j < count; j++)
            if (j != i && uses[j].resource == uses[i].resource && uses[j].begin < uses[i].end &&
                uses[i].begin < uses[j].end)
                return false;
    }
    return true;
}

// A new tensor for the result.
static spy_status spyi_again_make(spyi_plan *plan, const spyi_again_arg *a, spyi_use *uses,
                                  uint32_t *use_count, spy_tensor **made, spyi_text *error) {
    spy_status status = SPY_OK;
    spyi_launch_leaf *at = &plan->launch->leaves[a->leaf];
    *made = spyi_tensor_make(plan->function->object.device, plan->bound.leaves[a->leaf].element,
                             &plan->launch->shape, NULL, error, &status);
    if (!*made) return status;
    at->storage = (*made)->storage;
    spyi_again_use(at, a, &uses[(*use_count)++]);
    spyi_again_address(plan->launch, a);
    return SPY_OK;
}

static spy_status spyi_again_dispatch(spyi_plan *plan, const spyi_use *uses, uint32_t use_count,
                                      spyi_text *error) {
    spy_device *device = plan->function->object.device;
    const spyi_launch *launch = plan->launch;
    spyi_before before = spyi_take_uses(device, uses, use_count, false);
    plan->last_submit = device->last_submit;
    spyi_dispatch dispatch; // filled behind the calls above: the compiler knows its kind then
    dispatch.work = spyi_work_of(spyi_work_dispatch());
    dispatch.work.before = before;
    dispatch.kernel = launch->repeatable->kernel;
    dispatch.block = launch->block;
    dispatch.bindings = NULL;
    dispatch.uniforms = NULL;
    memcpy(dispatch.groups, launch->groups, sizeof dispatch.groups);
    dispatch.indirect = 0;
    spy_status status = spyi_record(device->backend, device->gpu, &dispatch.work, error);
    spyi_barrier_done(device, before.barrier, status);
    if (status == SPY_OK) device->stats.calls++;
    return status;
}

// Whether a launch does for the arguments, which are then in its block and leaves. Gives their uses, and which one is a new tensor.
// A launch that does not is left with base addresses of several calls, all of them in its block and leaves alike.
static bool spyi_again_matches(const spyi_plan *plan, spyi_launch *launch, spy_args args, spyi_use *uses,
                               uint32_t *use_count, uint32_t *fresh) {
    const spyi_again *again = launch->again;
    if (!again || again->variant != launch->repeatable || args.count != again->count) return false;
    *use_count = 0;
    for (uint32_t i = 0; i < again->count; i++) {
        if (!spyi_again_take(plan, launch, &again->args[i], &args.items[i], again->grid, uses, use_count))
            return false;
        if (again->args[i].op == SPYI_AGAIN_NEW) *fresh = i;
    }
    return spyi_again_apart(uses, *use_count);
}

SPYI_FN bool spyi_call_again(spyi_plan *plan, spy_args args, spy_status *status, spyi_text *error) {
    spyi_use uses[SPYI_MOST_MEMORY_LEAVES];
    uint32_t use_count = 0, fresh = UINT32_MAX, g = 0;
    if (!args.items) return false;
    while (plan->launches[g] && // a redirect of sizes has no launch
           !spyi_again_matches(plan, plan->launches[g], args, uses, &use_count, &fresh))
        if (++g == SPYI_GEOMETRIES) return false;
    if (!plan->launches[g]) return false;
    if (g > 0 || plan->launch != plan->launches[0]) spyi_plan_use_launch(plan, g);
    const spyi_again *again = plan->launch->again;
    spy_tensor *made = NULL;
    *status = SPY_OK;
    if (fresh != UINT32_MAX)
        *status = spyi_again_make(plan, &again->args[fresh], uses, &use_count, &made, error);
    if (*status == SPY_OK) *status = spyi_again_dispatch(plan, uses, use_count, error);
    if (*status == SPY_OK && made) {
        spyi_give_result(&plan->bound.leaves[again->args[fresh].leaf], &args.items[fresh], made);
    } else if (made) {
        spyi_tensor_unlink(made);
        spyi_tensor_free(made);
    }
    return true;
}

SPYI_FN bool spyi_cache_again(spy_function *function, spy_args args, spy_status *status, spyi_text *error) {
    spy_device *device = function->object.device;
    for (int i = 0; i < SPYI_RECENT_PLANS; i++) {
        spyi_plan *plan = function->recent[i];
        if (!plan || !spyi_call_again(plan, args, status, error)) continue;
        if (i > 0) spyi_make_recent(function, plan);
        spyi_lru_touch(device->cache, plan);
        device->stats.plan_hits++;
        return true;
    }
    return false;
}
