// Learns how a call is repeated, from a call that has been made: its arguments, its plan and its launch.
#include "call/again.h"

SPYI_FN bool spyi_simple_options(const spy_call_options *o) {
    return !o || (!o->prelude && !o->constants.count && !o->globals.count && !o->write_globals &&
                  !o->conformance_count && !o->thread_count.rank && !o->append_to);
}

static bool spyi_simple_plan(const spyi_plan *plan, const spyi_values *values) {
    return !values->threads && !values->global_count && !plan->bound.sizes &&
           spyi_simple_options(values->options);
}

static bool spyi_simple_variant(const spyi_variant *variant) {
    if (variant->bound_inputs.count || variant->emitted.prints || variant->emitted.binding_count)
        return false;
    for (uint32_t p = 0; p < variant->emitted.pack_count; p++) {
        uint8_t op = variant->emitted.packs[p].op;
        if (op == SPYI_PACK_BYTES || op == SPYI_PACK_KIND) return false;
    }
    return true;
}

// Returns the index of the argument whose tensor has the gradient, or values->count if there is none. *which
// becomes its index in grads[].
static uint32_t spyi_gradient_owner(const spyi_values *values, uint32_t gradient, uint8_t *which) {
    uint32_t i = 0;
    for (; i < values->count; i++) {
        *which = values->items[i].grads[1] == gradient;
        if (values->items[i].grads[*which] == gradient) break;
    }
    return i;
}

// Fills the members of an argument's item that are compared: kind, name, mapping and type.
static void spyi_again_compared(const spyi_value *v, spyi_again_item *a) {
    a->name = v->name ? v->name : "";
    a->kind = v->kind;
    a->direction = v->direction;
    a->dtype = (uint8_t)v->arg->dtype;
    a->cast = v->arg->type;
    a->map_count = (uint8_t)v->arg->_map_count;
    if (a->map_count <= SPY_MAX_RANK) memcpy(a->map, v->arg->_map, a->map_count);
    a->explicit_way = a->cast || a->map_count;
}

// Fills the items of pairs, which feed no leaf themselves, and counts the arguments. Returns the number of
// pairs.
static uint32_t spyi_again_pairs(const spyi_values *values, spyi_again *again) {
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        if (values->items[i].kind != SPY_ARG_KIND_PAIR) continue;
        spyi_again_compared(&values->items[i], &again->items[i]);
        again->items[i].op = SPYI_AGAIN_PAIR;
        again->items[i].leaf = UINT16_MAX;
        pairs++;
    }
    again->arg_count = values->count - 2 * pairs;
    return pairs;
}

// Returns whether both parts of each pair are tensors, and no gradient or new tensor comes from an argument
// that is no pair: the items of those name an argument by its index.
static bool spyi_again_pairs_are_tensors(const spyi_again *again, uint32_t fresh) {
    for (uint32_t i = 0; i < again->count; i++) {
        if (again->items[i].op != SPYI_AGAIN_PAIR) continue;
        if (fresh || again->item_count != again->count) return false;
        for (uint32_t part = i + 1; part <= i + 2; part++)
            if (again->items[part].op != SPYI_AGAIN_TENSOR && again->items[part].op != SPYI_AGAIN_UNUSED)
                return false;
    }
    return true;
}

// Fills the item of the value that feeds the leaf. Returns false if the short path cannot take the value.
static bool spyi_again_leaf(const spyi_plan *plan, const spyi_values *values, uint32_t leaf,
                            spyi_again *again) {
    const spyi_leaf *l = &plan->bound.leaves[leaf];
    const spyi_value *v = &values->items[l->value];
    uint8_t op = l->kind->run->again_op, which = 0;
    bool gradient = l->value >= values->count;
    uint32_t owner = gradient ? spyi_gradient_owner(values, l->value, &which) : 0;
    bool tensor = op == SPYI_AGAIN_TENSOR || op == SPYI_AGAIN_UNUSED;
    if (op == SPYI_AGAIN_NEVER || v->child_count || l->untracked || (tensor && !v->tensor) ||
        (op == SPYI_AGAIN_UNUSED && l->consumed) || owner == values->count)
        return false;
    spyi_again_item *a = &again->items[gradient ? again->item_count++ : l->value];
    if (a->name) return false; // the value feeds two leaves
    if (!gradient) spyi_again_compared(v, a);
    else a->name = "";
    a->type = v->type;
    a->rank = v->rank;
    a->op = op;
    a->how = (uint8_t)spyi_how(l->in, l->out);
    a->leaf = (uint16_t)leaf;
    a->at = &plan->launch->leaves[leaf];
    a->at->like = 0;
    a->what = gradient ? 0 : spyi_again_what(v->arg);
    a->is_result = strcmp(a->name, "_result") == 0;
    a->of = (uint8_t)owner;
    a->which = which;
    if (!gradient && v->tensor && spyi_looks_at_gradients(plan->function, values))
        a->gradients = spyi_gradients_of(v->tensor);
    return true;
}

// Adds to the item the places of its value in the block of one dispatch.
static void spyi_again_places(spyi_again_item *a, const spyi_variant *variant, uint8_t *block) {
    for (uint32_t p = 0; p < variant->emitted.pack_count; p++) {
        const spyi_pack *pack = &variant->emitted.packs[p];
        if (pack->leaf != a->leaf || pack->op < SPYI_PACK_ADDRESS || pack->op == SPYI_PACK_SUMS) continue;
        a->places[a->place_count++] = block + pack->offset;
    }
}

static void spyi_again_sums(spyi_again *again, const spyi_launch *launch, spyi_again_step *step,
                            uint32_t *count) {
    const spyi_emitted *e = &step->variant->emitted;
    step->sum = *count;
    for (uint32_t p = 0; p < e->pack_count; p++) {
        if (e->packs[p].op != SPYI_PACK_SUMS) continue;
        again->sums[*count].offset = e->packs[p].offset;
        again->sums[(*count)++].at = launch->leaves[e->packs[p].leaf].sums_offset;
    }
    step->sum_end = *count;
    if (step->sums_bytes > again->sums_bytes) again->sums_bytes = step->sums_bytes;
}

static const char *spyi_again_keep(char **at, const void *from, size_t size) {
    char *kept = *at;
    *at += spyi_align(size, 8);
    return size ? (const char *)memcpy(kept, from, size) : kept;
}

// Copies the options into the plan, unless they are plain; false when out of memory. When a call repeats, its
// options are compared with the copy byte by byte. Pointers of empty lists are NULL in the copy, because most
// callers set them to NULL; in the copies of a prepared call they are not NULL.
static bool spyi_again_options(spyi_plan *plan, const spy_call_options *options) {
    if (plan->repeated_options || spyi_options_are_plain(options)) return true;
    spy_call_options *kept = (spy_call_options *)spyi_malloc(sizeof *options);
    if (!kept) return false;
    memcpy(kept, options, sizeof *kept);
    kept->constants.items = kept->globals.items = NULL;
    kept->conformances = NULL;
    kept->write_user_data = NULL;
    plan->repeated_options = kept;
    return true;
}

// Fills each step's uses, and again->any_order. (That leaves share no memory with an output is checked at each call.) Returns
// false if a step uses memory that no item has.
static bool spyi_again_step_uses(spyi_again *again) {
    uint8_t numbers[SPYI_MOST_MEMORY_LEAVES],
        count = 0;                  // for each leaf the number of its use, from 1 on; 0: none
    uint64_t used = 0, written = 0; // by earlier steps, a bit for each leaf
    memset(numbers, 0, sizeof numbers);
    for (uint32_t i = 0; i < again->item_count; i++)
        if (i >= again->count || again->items[i].op == SPYI_AGAIN_TENSOR)
            numbers[again->items[i].leaf] = ++count;
    if (again->fresh) numbers[again->fresh->leaf] = ++count; // spyi_again_make() adds it last
    again->any_order = again->sums_bytes == 0;
    for (uint32_t k = 0; k < again->step_count; k++) {
        spyi_again_step *step = &again->steps[k];
        uint64_t uses = 0, writes = 0;
        for (uint32_t i = 0; i < step->variant->access_count; i++) {
            const spyi_memory_access *access = &step->variant->accesses[i];
            if (access->whole || access->resource || numbers[access->number] == 0) return false;
            step->uses[step->use_count++] = (uint8_t)(numbers[access->number] - 1);
            uses |= (uint64_t)1 << access->number;
            if (access->writes) writes |= (uint64_t)1 << access->number;
        }
        if ((writes & used) || (uses & written)) again->any_order = false;
        used |= uses;
        written |= writes;
    }
    return true;
}

// Returns how the call is repeated, in one allocation; NULL when out of memory, or the call cannot be
// repeated.
static spyi_again *spyi_again_new(const spyi_plan *plan, const spyi_values *values,
                                  const spyi_again_step *steps, uint32_t step_count) {
    for (uint32_t i = 0; i < step_count; i++) // the uses of such a call change with the textures that have
                                              // handles
        if (((const spyi_kernel_base *)(const void *)steps[i].variant->kernel)->handles) return NULL;
    uint32_t items = values->count + values->grad_count, packs = 0;
    size_t size = spyi_align(sizeof(spyi_again), 8) + items * spyi_align(sizeof(spyi_again_item), 8) +
                  step_count * spyi_align(sizeof *steps, 8);
    for (uint32_t i = 0; i < values->count; i++)
        size += (values->items[i].name ? spyi_align(strlen(values->items[i].name) + 1, 8) : 0) +
                (values->items[i].cast ? spyi_align(strlen(values->items[i].cast) + 1, 8) : 0);
    for (uint32_t i = 0; i < step_count; i++) {
        packs += steps[i].variant->emitted.pack_count;
        size += 2 * spyi_align(steps[i].variant->emitted.block_size + 64, 8);
    }
    size += packs * (sizeof(uint8_t *) + sizeof(spyi_again_sum)) + 16;
    size += items * sizeof(spyi_use) + 16;
    spyi_again *again = (spyi_again *)spyi_calloc(1, size);
    if (!again) return NULL; // without it calls take the normal path
    char *at = (char *)again + spyi_align(sizeof *again, 8);
    again->items = (spyi_again_item *)(void *)at;
    at += items * spyi_align(sizeof *again->items, 8);
    again->steps = (spyi_again_step *)(void *)at;
    at += step_count * spyi_align(sizeof *steps, 8);
    uint8_t **places = (uint8_t **)(void *)at;
    at += packs * sizeof *places;
    again->sums = (spyi_again_sum *)(void *)at;
    at += packs * sizeof *again->sums;
    again->direct_uses = (spyi_use *)(void *)at;
    at += items * sizeof *again->direct_uses;
    again->count = again->item_count = values->count;
    again->step_count = step_count;
    again->variant = steps[0].variant;
    again->grid = spyi_launch_grid(&plan->function->object.device->base->limits);
    uint32_t fresh = 0, taken = 0, sums = 0, // fresh: number of leaves that make a new tensor, at most one
        pairs = spyi_again_pairs(values, again);
    for (uint32_t i = 0; i < plan->bound.leaf_count; i++) {
        fresh += (plan->bound.leaves[i].traits & SPYI_TRAIT_CALL_SHAPED) != 0;
        taken += plan->bound.leaves[i].value < values->count;
        if (fresh <= 1 && spyi_again_leaf(plan, values, i, again)) continue;
        free(again);
        return NULL;
    }
    // Some argument feeds no leaf, or several.
    if (taken + pairs != values->count || !spyi_again_pairs_are_tensors(again, fresh)) {
        free(again);
        return NULL;
    }
    for (uint32_t k = 0; k < step_count; k++) {
        again->steps[k] = steps[k];
        if (step_count == 1) continue; // a single step uses the launch's block
        again->steps[k].block = (uint8_t *)at;
        (void)spyi_again_keep(&at, steps[k].block, steps[k].variant->emitted.block_size);
        at += 64; // room for the padding of host values
        again->steps[k].launched = (uint8_t *)at;
        at += spyi_align(steps[k].variant->emitted.block_size, 8);
        spyi_again_sums(again, plan->launch, &again->steps[k], &sums);
    }
    for (uint32_t i = 0; i < again->item_count; i++) {
        spyi_again_item *a = &again->items[i];
        if (a->op == SPYI_AGAIN_NEW) again->fresh = a;
        a->places = places;
        for (uint32_t k = 0; k < step_count; k++)
            spyi_again_places(a, steps[k].variant,
                              step_count == 1 ? plan->launch->block : again->steps[k].block);
        places += a->place_count;
        if (a->name[0]) a->name = spyi_again_keep(&at, a->name, strlen(a->name) + 1);
        if (a->cast) a->cast = spyi_again_keep(&at, a->cast, strlen(a->cast) + 1);
        if (a->explicit_way || (a->op != SPYI_AGAIN_TENSOR && a->op != SPYI_AGAIN_NUMBER))
            again->direct_uses = NULL;
    }
    if (step_count > 1 && !spyi_again_step_uses(again)) {
        free(again);
        return NULL;
    }
    if (step_count != 1 || again->item_count != again->count) again->direct_uses = NULL;
    const spyi_use *use = again->writes_from = again->writes_to = again->direct_uses;
    for (uint32_t i = 0; i < again->count && use; i++) {
        if (again->items[i].op != SPYI_AGAIN_TENSOR) continue;
        if (again->items[i].how & SPYI_USE_WRITES) {
            if (again->writes_to == again->direct_uses) again->writes_from = use;
            again->writes_to = use + 1;
        }
        use++;
    }
    return again;
}

SPYI_FN void spyi_again_learn(spyi_plan *plan, const spyi_values *values, const spyi_variant *variant) {
    spyi_launch *launch = plan->launch;
    spyi_again_step step;
    if (launch->again && launch->again->variant == variant && !launch->again->steps) return;
    if (!spyi_simple_plan(plan, values) || !spyi_simple_variant(variant)) return;
    memset(&step, 0, sizeof step);
    step.variant = variant;
    spyi_launch_forget(plan->function->object.device, launch);
    launch->again = spyi_again_options(plan, values->options) ? spyi_again_new(plan, values, &step, 1) : NULL;
    if (launch->again) launch->again->steps = NULL;
}

// >>calls of several dispatches

SPYI_FN void spyi_again_begin(spyi_again_notes *notes, const spyi_run_state *s) {
    memset(notes, 0, offsetof(spyi_again_notes, reach));
    notes->fail =
        s->sink || !spyi_simple_plan(s->plan, s->values) || !spyi_outputs_apart(s->bound, s->values);
    if (!notes->fail) memset(notes->reach, 0, s->bound->leaf_count * sizeof *notes->reach);
}

SPYI_FN void spyi_again_note(spyi_again_notes *notes, const spyi_run_state *s, const spyi_variant *variant) {
    const spyi_launch *launch = s->launch;
    if (notes->fail || !spyi_simple_variant(variant) || launch->key.bindings) {
        notes->fail = true;
        return;
    }
    spyi_again_step *step = &notes->steps[notes->count++];
    memset(step, 0, sizeof *step);
    step->variant = variant;
    memcpy(step->groups, launch->groups, sizeof step->groups);
    step->sums_bytes = launch->leaves_sums ? launch->sums_bytes : 0;
    step->finishes = launch->finishes;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++)
        if (launch->leaves[i].reach > notes->reach[i]) notes->reach[i] = launch->leaves[i].reach;
    spyi_text_add_n(&notes->blocks, (const char *)launch->block, variant->emitted.block_size);
}

SPYI_FN bool spyi_again_end(spyi_again_notes *notes, const spyi_run_state *s, spy_status status) {
    spyi_launch *launch = s->launch;
    size_t at = 0;
    for (uint32_t i = 0; i < notes->count; i++) {
        notes->steps[i].block = notes->blocks.data ? (uint8_t *)notes->blocks.data + at : NULL;
        at += notes->steps[i].variant->emitted.block_size;
    }
    bool good = status == SPY_OK && !notes->fail && notes->blocks.size == at &&
                spyi_again_options(s->plan, s->values->options);
    if (good) {
        spyi_launch_forget(s->device, launch);
        launch->again = spyi_again_new(s->plan, s->values, notes->steps, notes->count);
        good = launch->again != NULL;
    }
    for (uint32_t i = 0; i < s->bound->leaf_count && good; i++) launch->leaves[i].reach = notes->reach[i];
    spyi_text_free(&notes->blocks);
    return good;
}
