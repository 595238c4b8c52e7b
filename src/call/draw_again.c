// Repeats the stages of draws: a draw whose arguments have the names, kinds and types of the raster's last
// draw takes that draw's plans and variants. A stage whose arguments are all plain bytes, as most vertex
// stages are, is not even described: each value is copied from its argument to its place in the block.
#include "call/raster.h"

// >>learning

// Fills the item with the properties that the argument must have. Returns false for arguments that are not
// plain bytes.
static bool spyi_flat_learn(const spyi_pack *pack, const spyi_leaf *leaf, const spyi_value *v,
                            spyi_flat_item *item) {
    const spy_arg *arg = v->arg;
    const spyi_type *type = leaf->type;
    const bool array = arg->kind == SPY_ARG_KIND_ARRAY;
    if (v->child_count || v->map_count || v->whole || v->cast || arg->direction != SPY_DIRECTION_DEFAULT ||
        (array && arg->count > sizeof item->dims / sizeof *item->dims))
        return false;
    memset(item, 0, sizeof *item);
    item->leaf = leaf;
    item->offset = pack->offset;
    item->op = pack->op;
    item->kind = (uint8_t)arg->kind;
    item->dtype = (uint8_t)arg->dtype;
    if (array || arg->kind == SPY_ARG_KIND_DATA) item->count = arg->count;
    for (size_t d = 0; array && d < arg->count; d++) item->dims[d] = arg->dims[d];
    while (pack->op == SPYI_PACK_INLINE && type->kind == SPYI_TYPE_ARRAY) type = type->element;
    const spy_dtype dtype = arg->dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : arg->dtype;
    const bool as_it_is =
        pack->op == SPYI_PACK_BYTES || (pack->op == SPYI_PACK_INLINE && type->scalar == dtype);
    if (as_it_is && leaf->type->same_layout)
        item->bytes = (uint32_t)(leaf->type->host_size < leaf->type->device_size ? leaf->type->host_size
                                                                                 : leaf->type->device_size);
    return true;
}

// Makes the items of a stage whose arguments are all plain bytes, and then sets `flat`.
static void spyi_flat_learn_all(const spyi_drawing *d, int s, const spyi_values *values,
                                spyi_stage_again *a) {
    const spyi_variant *variant = d->stages[s].variant;
    const spyi_emitted *e = &variant->emitted;
    const uint8_t bit = s == SPYI_RASTER_VERTEX ? SPYI_FEEDS_VERTEX : SPYI_FEEDS_FRAGMENT;
    uint32_t numbers[SPYI_MOST_FLAT], count = 0; // for each argument of the stage, the number of the draw's
                                                 // argument
    a->flat = false;
    a->flat_count = 0;
    if (variant->access_count || variant->untracked || variant->bound_inputs.count ||
        variant->bound_inputs.binding_count || variant->bound_inputs.uniform_count || e->binding_count ||
        e->prints || e->pack_count > SPYI_MOST_FLAT || a->count - a->systems > SPYI_MOST_FLAT)
        return;
    for (uint32_t i = 0; i < d->args.count; i++)
        if ((d->feeds[i] & bit) && count < SPYI_MOST_FLAT) numbers[count++] = i;
    if (count != a->count - a->systems) return;
    for (uint32_t p = 0; p < e->pack_count; p++) {
        const spyi_pack *pack = &e->packs[p];
        const spyi_leaf *leaf = &d->stages[s].plan->bound.leaves[pack->leaf];
        spyi_flat_item *item = &a->flat_items[a->flat_count];
        if ((pack->op != SPYI_PACK_SCALAR && pack->op != SPYI_PACK_INLINE && pack->op != SPYI_PACK_BYTES) ||
            leaf->value < a->systems || leaf->value >= a->count ||
            !spyi_flat_learn(pack, leaf, &values->items[leaf->value], item))
            return;
        item->number = (uint8_t)numbers[leaf->value - a->systems];
        a->flat_count++;
    }
    // An argument without an item would be ignored, so each must have one.
    for (uint32_t i = 0; i < count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < a->flat_count; k++) found = found || a->flat_items[k].number == numbers[i];
        if (!found) return;
    }
    a->flat = true;
}

SPYI_FN void spyi_learn_stage(const spyi_drawing *d, int s, const spyi_values *values, uint32_t given) {
    spyi_stage_again *a = &d->raster->again[s];
    const spyi_draw_stage *stage = &d->stages[s];
    uint32_t count = values->count;
    bool simple = count == given && !values->global_count && !values->grad_count &&
                  !stage->plan->bound.sizes && d->args.count <= d->raster->fed_count &&
                  stage->plan->variant_count == 1;
    if (a->plan == stage->plan && a->arg_count == d->args.count)
        return; // the stage was learnt from such a
                // draw, and this draw could not
                // repeat it
    if (a->plan) spyi_plan_release(d->device, a->plan);
    a->plan = NULL;
    if (!simple) return;
    if (a->capacity < count) {
        spyi_value *items = (spyi_value *)spyi_realloc(a->items, count * sizeof *items);
        if (!items) return;
        a->items = items;
        a->capacity = count;
    }
    if (count) memcpy(a->items, values->items, count * sizeof *a->items);
    a->count = count;
    a->systems = 0;
    while (a->systems < count && spyi_is_varying(&a->items[a->systems])) a->systems++;
    a->arg_count = d->args.count;
    a->plan = stage->plan;
    a->variant = stage->variant;
    a->plan->references++;
    spyi_flat_learn_all(d, s, values, a);
}

// >>repeating

static bool spyi_flat_matches(const spyi_flat_item *item, const spy_arg *arg) {
    if ((uint8_t)arg->kind != item->kind || (uint8_t)arg->dtype != item->dtype ||
        arg->direction != SPY_DIRECTION_DEFAULT || arg->_map_count || arg->type)
        return false;
    if (item->kind != SPY_ARG_KIND_ARRAY && item->kind != SPY_ARG_KIND_DATA) return true; // a single number
    if (arg->count != item->count || !arg->value.data) return false;
    for (size_t d = 0; item->kind == SPY_ARG_KIND_ARRAY && d < item->count; d++)
        if (arg->dims[d] != item->dims[d]) return false;
    return true;
}

// Describes the arguments of a stage that is not flat.
static bool spyi_describe_stage_again(spyi_drawing *d, int s, spyi_values *values) {
    spyi_stage_again *a = &d->raster->again[s];
    const uint8_t bit = s == SPYI_RASTER_VERTEX ? SPYI_FEEDS_VERTEX : SPYI_FEEDS_FRAGMENT;
    uint32_t next = a->systems;
    for (size_t i = 0; i < d->args.count; i++)
        if ((d->feeds[i] & bit) && !spyi_describe_again(d->device, &d->args.items[i], &a->items[next++]))
            return false;
    memset(values, 0, sizeof *values);
    values->items = a->items;
    values->count = a->count;
    return true;
}

SPYI_FN bool spyi_repeat_stage(spyi_drawing *d, int s, spyi_values *values) {
    spyi_stage_again *a = &d->raster->again[s];
    spyi_draw_stage *stage = &d->stages[s];
    if (!a->plan || a->arg_count != d->args.count ||
        a->plan->generation != a->plan->function->module->generation)
        return false;
    bool good = true;
    if (SPYI_LIKELY(a->flat))
        for (uint32_t i = 0; i < a->flat_count && good; i++)
            good = spyi_flat_matches(&a->flat_items[i], &d->args.items[a->flat_items[i].number]);
    else good = spyi_describe_stage_again(d, s, values);
    if (!good) {
        spyi_plan_release(d->device, a->plan);
        a->plan = NULL;
        return false;
    }
    stage->plan = a->plan;
    stage->plan->references++;
    stage->variant = a->variant;
    if (a->flat) stage->flat = a;
    return true;
}

SPYI_FN bool spyi_pack_flat(const spyi_stage_again *again, spy_args args, uint8_t *block) {
    for (uint32_t i = 0; i < again->flat_count; i++) {
        const spyi_flat_item *item = &again->flat_items[i];
        const spy_arg *arg = &args.items[item->number];
        uint8_t *out = block + item->offset;
        if (SPYI_LIKELY(item->bytes)) memcpy(out, arg->value.data, item->bytes);
        else if (item->op == SPYI_PACK_BYTES) spyi_type_to_device(item->leaf->type, out, arg->value.data, 1);
        else if (item->op == SPYI_PACK_INLINE ? !spyi_pack_inline(item->leaf, arg, out)
                                              : !spyi_pack_scalar(item->leaf, arg, out))
            return false;
    }
    return true;
}
