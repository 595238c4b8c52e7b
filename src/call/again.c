// Repeats a call that equals an earlier call of its plan in everything except storages and numbers. It goes
// straight from the arguments to the dispatch, without describing, signing or looking up anything. A call
// that differs in more takes the normal path, which also reports errors.
#include "call/again.h"

// >>repeating

static inline bool spyi_again_same_name(const char *given, const char *name) {
    size_t i = 0;
    for (char c = given[0]; c == name[i]; c = given[i]) {
        if (c == 0) return true;
        i++;
    }
    return false;
}

static bool spyi_again_named(const spy_arg *arg, const char *name) {
    return spyi_again_same_name(arg->name ? arg->name : "", name);
}

// Compares an argument's mapping and type with those of the item.
static SPYI_NOINLINE bool spyi_again_same_way(const spy_arg *arg, const spyi_again_item *a) {
    if (arg->_map_count != a->map_count || (arg->type == NULL) != (a->cast == NULL)) return false;
    if (a->map_count <= SPY_MAX_RANK && memcmp(arg->_map, a->map, a->map_count) != 0) return false;
    return !a->cast || strcmp(arg->type, a->cast) == 0;
}

// spyi_again_address() writes the address of the item's leaf into the blocks. spyi_again_use() makes the use
// of the leaf's memory.
static void spyi_again_address(const spyi_launch_leaf *at, const spyi_again_item *a) {
    uint64_t address = at->storage->chunk.address + at->storage->offset + at->begin;
    for (uint32_t p = 0; p < a->place_count; p++) memcpy(a->places[p], &address, 8);
}

static void spyi_again_use(const spyi_launch_leaf *at, const spyi_again_item *a, spyi_use *use) {
    *use = spyi_use_of(&at->storage->resource, at->begin, at->end, a->how);
}

static bool spyi_again_number(const spyi_leaf *leaf, const spyi_again_item *a, const spy_arg *arg) {
    if ((uint8_t)arg->dtype != a->dtype) return false;
    for (uint32_t p = 0; p < a->place_count; p++)
        if (!spyi_pack_scalar(leaf, arg, a->places[p])) return false;
    return true;
}

static bool spyi_again_array(const spyi_leaf *leaf, const spyi_again_item *a, const spy_arg *arg) {
    if ((uint8_t)arg->dtype != a->dtype || arg->count != leaf->consumed || !arg->value.data) return false;
    for (uint32_t d = 0; d < leaf->consumed; d++)
        if (arg->dims[d] != leaf->consumed_dims[d]) return false;
    for (uint32_t p = 0; p < a->place_count; p++)
        if (!spyi_pack_inline(leaf, arg, a->places[p])) return false;
    return true;
}

static inline bool spyi_again_is_tensor(const spy_device *device, const spyi_again_item *a,
                                        const spy_tensor *t) {
    return spyi_is_on(device, t, SPYI_KIND_TENSOR) && (!a->gradients || a->gradients == spyi_gradients_of(t));
}

// Puts the tensor into the launch, its address into the blocks, and its use into *use. Returns false if the
// tensor does not repeat the launch.
static inline bool spyi_again_tensor(spyi_launch *launch, const spyi_again_item *a, const spy_tensor *t,
                                     spyi_use *use) {
    spyi_launch_leaf *at = &launch->leaves[a->leaf];
    if (t->serial != at->serial) { // with the same serial number the blocks already have the tensor's address
        if (t->type != a->type || !spyi_launch_leaf_repeats(at, t, launch->again->grid)) return false;
        spyi_launch_leaf_take(at, t);
        spyi_again_address(at, a);
    }
    spyi_again_use(at, a, use);
    return true;
}

// Takes over an argument that is not a tensor, or a tensor whose memory the call does not use.
static bool spyi_again_other(const spyi_plan *plan, const spyi_again_item *a, const spy_arg *arg) {
    const spyi_leaf *leaf = &plan->bound.leaves[a->leaf];
    const spy_tensor *t = arg->value.tensor;
    switch ((spyi_again_op)a->op) {
    case SPYI_AGAIN_NUMBER: return spyi_again_number(leaf, a, arg);
    case SPYI_AGAIN_ARRAY: return spyi_again_array(leaf, a, arg);
    case SPYI_AGAIN_UNUSED:
        return spyi_again_is_tensor(plan->function->object.device, a, t) && t->type == a->type &&
               t->shape.rank == a->rank;
    default: return a->kind == SPY_ARG_KIND_NEW ? arg->value.new_tensor != NULL : arg->value.result != NULL;
    }
}

// Returns whether no output shares memory with another use. With shared memory the call takes the normal
// path, which compares elements.
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

// Makes the tensor of a new result, and adds its use.
static SPYI_NOINLINE spy_status spyi_again_make(spyi_plan *plan, const spyi_again_item *a, spyi_use *uses,
                                                uint32_t *use_count, spy_tensor **made, spyi_text *error) {
    spy_status status = SPY_OK;
    spyi_launch_leaf *at = &plan->launch->leaves[a->leaf];
    *made = spyi_tensor_make(plan->function->object.device, plan->bound.leaves[a->leaf].element,
                             &plan->launch->shape, NULL, error, &status);
    if (!*made) return status;
    at->storage = (*made)->storage;
    spyi_again_use(at, a, &uses[(*use_count)++]);
    spyi_again_address(at, a);
    return SPY_OK;
}

static inline spy_status spyi_again_dispatch(spyi_plan *plan, const spyi_use *uses, uint32_t use_count,
                                             spyi_text *error) {
    spy_device *device = plan->function->object.device;
    const spyi_launch *launch = plan->launch;
    spyi_before before = spyi_take_uses(device, uses, use_count, false);
    plan->last_submit = device->last_submit;
    spyi_dispatch dispatch; // filled after the calls above, so that the compiler knows the dispatch's kind
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
    return status;
}

// Compares an argument, or a part of a pair, with its item, and takes it over. Adds the use of a tensor's memory.
static inline bool spyi_again_argument(const spyi_plan *plan, spyi_launch *launch, const spyi_again_item *a,
                                       const spy_arg *arg, spyi_use **use) {
    if ((uint8_t)arg->kind != a->kind || (uint8_t)arg->direction != a->direction) return false;
    if ((arg->type || arg->_map_count || a->explicit_way) && !spyi_again_same_way(arg, a)) return false;
    if (SPYI_LIKELY(a->op == SPYI_AGAIN_TENSOR))
        return spyi_again_is_tensor(plan->function->object.device, a, arg->value.tensor) &&
               spyi_again_tensor(launch, a, arg->value.tensor, (*use)++);
    if (a->op == SPYI_AGAIN_PAIR) return arg->count == 2 && arg->value.fields;
    return spyi_again_other(plan, a, arg);
}

// Returns whether the arguments repeat the launch. Its blocks and leaves then have their addresses and
// numbers, and `uses` their uses. If it returns false, some leaves may have addresses of this call and others
// of an earlier one; the blocks have the same addresses as the leaves.
static bool spyi_again_matches(const spyi_plan *plan, spyi_launch *launch, spy_args args, spyi_use *uses,
                               uint32_t *use_count) {
    const spyi_again *again = launch->again;
    if (!again || again->variant != launch->repeatable || args.count != again->arg_count) return false;
    const spyi_again_item *a = again->items, *end = a + again->count;
    const spy_arg *arg = args.items;
    spyi_use *use = uses;
    for (; a < end; a++, arg++) {
        if (!spyi_again_named(arg, a->name) || !spyi_again_argument(plan, launch, a, arg, &use)) return false;
        if (a->op != SPYI_AGAIN_PAIR) continue;
        for (int part = 0; part < 2; part++)
            if (!spyi_again_argument(plan, launch, ++a, &arg->value.fields[part], &use)) return false;
    }
    for (end = again->items + again->item_count; a < end; a++)
        if (!spyi_again_tensor(launch, a, args.items[a->of].value.tensor->grads[a->which], use++))
            return false;
    *use_count = (uint32_t)(use - uses);
    return spyi_again_apart(uses, *use_count);
}

SPYI_FN bool spyi_call_again(spyi_plan *plan, spy_args args, spy_status *status, spyi_text *error) {
    spyi_use uses[SPYI_MOST_MEMORY_LEAVES + 1];
    uint32_t use_count = 0, g = 0;
    if (!args.items) return false;
    while (plan->launches[g] && // `launches` ends with NULL; in a plan that redirects sizes all of them are
                                // NULL
           !spyi_again_matches(plan, plan->launches[g], args, uses, &use_count))
        if (++g == SPYI_GEOMETRIES) return false;
    if (!plan->launches[g]) return false;
    if (g > 0 || plan->launch != plan->launches[0]) spyi_plan_use_launch(plan, g);
    const spyi_launch *launch = plan->launch;
    const spyi_again *again = launch->again;
    spy_tensor *made = NULL;
    *status = SPY_OK;
    if (again->fresh) *status = spyi_again_make(plan, again->fresh, uses, &use_count, &made, error);
    if (*status == SPY_OK)
        *status = SPYI_LIKELY(!again->steps) ? spyi_again_dispatch(plan, uses, use_count, error)
                                             : spyi_again_run_steps(plan, uses, use_count, error);
    if (*status == SPY_OK) plan->function->object.device->stats.calls++;
    if (*status == SPY_OK && made) {
        spyi_give_result(&plan->bound.leaves[again->fresh->leaf], &args.items[again->fresh - again->items],
                         made);
    } else if (made) {
        spyi_tensor_unlink(made);
        spyi_tensor_free(made);
    }
    return true;
}

// Returns whether `use` shares no memory with another of the uses, up to `end`, where one of the two writes.
static inline bool spyi_again_use_apart(const spyi_use *use, const spyi_use *other, const spyi_use *end) {
    for (; other < end; other++)
        if (other->resource == use->resource && other != use && ((use->how | other->how) & SPYI_USE_WRITES) &&
            other->begin < use->end && use->begin < other->end)
            return false;
    return true;
}

// Returns whether an argument's name is that of the item. Most declared calls give no name but "_result".
static inline bool spyi_direct_named(const spyi_again_item *a, const char *name) {
    if (!name) return a->name[0] == 0;
    if (!a->is_result) return spyi_again_same_name(name, a->name);
    return name[0] == '_' && name[1] == 'r' && name[2] == 'e' && name[3] == 's' && name[4] == 'u' &&
           name[5] == 'l' && name[6] == 't' && name[7] == 0;
}

// Puts a tensor that differs from the last call's into the launch, the block and *use. Returns false if the
// tensor does not repeat the launch. A tensor that this leaf, or a leaf with the same number, has met before
// is known by its serial number; other tensors are compared.
static inline bool spyi_direct_tensor(spy_device *device, const spyi_launch *launch, spyi_again_item *a,
                                      spy_tensor *t, spyi_use *use) {
    spyi_launch_leaf *at = a->at;
    if (t->serial != at->serial) {
        if (!SPYI_LIKELY(at->like && t->like == at->like)) {
            if (t->type != a->type || !spyi_launch_leaf_repeats(at, t, launch->again->grid)) return false;
            if (!at->like) at->like = ++device->last_like;
            t->like = at->like;
        }
        spyi_launch_leaf_take(at, t);
        spyi_again_address(at, a);
    }
    a->serial = t->serial;
    spyi_again_use(at, a, use);
    return true;
}

static inline spy_status spyi_direct_dispatch(spyi_plan *plan, spyi_again *again, const spyi_use *end,
                                              const spyi_use *from, const spyi_use *to, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    const spyi_launch *launch = plan->launch;
    bool barrier = spyi_take_noted_uses(device, again->direct_uses, (uint32_t)(end - again->direct_uses),
                                        from, to, &again->direct_noted);
    plan->last_submit = device->last_submit;
    spyi_dispatch dispatch;
    dispatch.work = spyi_work_of(spyi_work_dispatch());
    dispatch.work.before.barrier = barrier;
    dispatch.kernel = launch->repeatable->kernel;
    dispatch.block = launch->block;
    dispatch.bindings = NULL;
    dispatch.uniforms = NULL;
    memcpy(dispatch.groups, launch->groups, sizeof dispatch.groups);
    dispatch.indirect = 0;
    spy_status status = spyi_record(device->backend, device->gpu, &dispatch.work, error);
    if (barrier) spyi_barrier_done(device, true, status);
    return status;
}

// Repeats the last call of a declared function, without options, if that was a single dispatch of tensors and
// numbers. It compares and changes only the arguments that differ from the last such call. Returns false when
// the call must take another path; launch and blocks then agree with each other, as after
// spyi_again_matches().
SPYI_FN bool spyi_call_direct(spy_function *function, spy_args args, spy_status *status, spyi_text *error) {
    spyi_plan *plan = function->recent[0];
    spyi_launch *launch = plan && !plan->repeated_options ? plan->launches[0] : NULL;
    spyi_again *again = launch ? launch->again : NULL;
    if (!again || plan->launch != launch || again->variant != launch->repeatable ||
        args.count != again->arg_count || !again->direct_uses || !args.items)
        return false;
    spy_device *device = function->object.device;
    spyi_use *use = again->direct_uses;
    spyi_again_item *a = again->items, *end = a + again->count;
    const spy_arg *arg = args.items;
    const spyi_use *from = use, *to = use; // a range of uses that contains all uses that differ from the last
                                           // call's
    for (; a < end; a++, arg++) {
        if (spyi_again_what(arg) != a->what || arg->type || arg->_map_count ||
            !spyi_direct_named(a, arg->name))
            break;
        if (SPYI_LIKELY(a->op == SPYI_AGAIN_TENSOR)) {
            spy_tensor *t = arg->value.tensor;
            if (!spyi_again_is_tensor(device, a, t)) break;
            if (a->serial != t->serial || a->at->serial != t->serial) {
                if (!spyi_direct_tensor(device, launch, a, t, use)) break;
                if (to == again->direct_uses) from = use;
                to = use + 1;
            }
            use++;
        } else if (!spyi_again_other(plan, a, arg)) {
            break;
        }
    }
    bool good = a == end;
    for (const spyi_use *moved = from; moved < to && good; moved++)
        good = spyi_again_use_apart(moved, again->direct_uses, use);
    if (!good) { // from here on no use is known
        for (a = again->items; a < end; a++) a->serial = 0;
        return false;
    }
    if (from == to || again->writes_from < from) from = again->writes_from;
    if (again->writes_to > to) to = again->writes_to;
    *status = spyi_direct_dispatch(plan, again, use, from, to, error);
    if (*status == SPY_OK) device->stats.calls++;
    spyi_lru_touch(device->cache, plan);
    device->stats.plan_hits++;
    return true;
}

// Returns whether a call with these options may repeat calls of the plan.
static bool spyi_options_repeat(const spyi_plan *plan, const spy_call_options *options) {
    if (!plan->repeated_options) return !options || spyi_options_are_plain(options);
    return options && memcmp(plan->repeated_options, options, sizeof *options) == 0;
}

SPYI_FN bool spyi_cache_again(spy_function *function, spy_args args, const spy_call_options *options,
                              spy_status *status, spyi_text *error) {
    spy_device *device = function->object.device;
    for (int i = 0; i < SPYI_RECENT_PLANS; i++) {
        spyi_plan *plan = function->recent[i];
        if (!plan || !spyi_options_repeat(plan, options) || !spyi_call_again(plan, args, status, error))
            continue;
        if (i > 0) spyi_make_recent(function, plan);
        spyi_lru_touch(device->cache, plan);
        device->stats.plan_hits++;
        return true;
    }
    return false;
}
