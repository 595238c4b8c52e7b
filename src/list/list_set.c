// Changes values of a recorded call: numbers and host data among the parameters that the list repeats.
#include "kinds/kinds.h"
#include "list/list.h"

// >>finding a value

// A recorded value: a leaf of the plan, or a leaf of the variant's shader parameters.
typedef struct spyi_set_place {
    const spyi_leaf *leaf;
    bool input; // `leaf` is the leaf of a shader parameter
} spyi_set_place;

// Returns whether the operation packs a value that may change.
static bool spyi_set_packs(const spyi_pack *pack) {
    return pack->op >= SPYI_PACK_SCALAR && pack->op <= SPYI_PACK_KIND;
}

// Returns where the value stands among the parameters of a dispatch, which the list keeps; NULL means that
// the kernel does not use it. Each variant of a call has its own leaves for shader parameters; they are found
// by path.
static uint8_t *spyi_set_find(const spyi_list_op *op, const spyi_set_place *place) {
    const spyi_emitted *e = &op->variant->emitted;
    const spyi_bound_inputs *bound_inputs = &op->variant->bound_inputs;
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)op->work;
    const spyi_leaf *leaves = place->input ? bound_inputs->leaves : op->plan->bound.leaves;
    const spyi_pack *packs = place->input ? bound_inputs->packs : e->packs;
    uint32_t count = place->input ? bound_inputs->pack_count : e->pack_count;
    for (uint32_t p = 0; p < count; p++) {
        const spyi_leaf *leaf = &leaves[packs[p].leaf];
        bool found = place->input ? strcmp(leaf->path, place->leaf->path) == 0 : leaf == place->leaf;
        if (found && spyi_set_packs(&packs[p]))
            return (uint8_t *)(uintptr_t)(place->input ? dispatch->uniforms[0].data : dispatch->block) +
                   packs[p].offset;
    }
    return NULL;
}

// Returns value `number` of the call: first the leaves of parameters, then those of globals; NULL beyond the
// last. A struct that is given by fields counts as its fields.
static const spyi_leaf *spyi_set_leaf(const spy_command_list *list, const spyi_list_call *call,
                                      uint32_t number, spyi_set_place *place) {
    const spyi_bound *b = &call->plan->bound;
    place->leaf = NULL;
    place->input = number >= b->leaf_count;
    if (!place->input) return place->leaf = &b->leaves[number];
    if (!call->op_count) return NULL;
    const spyi_bound_inputs *bound_inputs = &list->ops[call->first_op].variant->bound_inputs;
    if (number - b->leaf_count < bound_inputs->count)
        place->leaf = &bound_inputs->leaves[number - b->leaf_count];
    return place->leaf;
}

static bool spyi_set_is_value(const spyi_leaf *leaf) {
    return leaf->role == SPYI_ROLE_VALUE && !leaf->binds && leaf->path;
}

static bool spyi_set_is_constant(const spyi_leaf *leaf) {
    if (!spyi_set_is_value(leaf) || leaf->out) return false;
    return leaf->kind->run->match && !leaf->batch_rank;
}

static spy_status spyi_set_not_found(const spy_command_list *list, const spyi_list_call *call,
                                     const char *path, spyi_text *error) {
    spyi_set_place place;
    uint32_t count = 0;
    spyi_text_add(error, "'%s': the call has no such value", path);
    for (uint32_t i = 0; spyi_set_leaf(list, call, i, &place); i++)
        if (spyi_set_is_constant(place.leaf))
            spyi_text_add(error, "%s'%s'", count++ ? ", " : "; these can be changed: ", place.leaf->path);
    if (!count) spyi_text_add(error, ", and none that can be changed");
    return SPY_ERROR_NOT_FOUND;
}

// Returns the parameter's name for an argument without a name, by position; NULL means that the function has
// fewer parameters.
static const char *spyi_set_name(const spyi_bound *b, uint32_t position) {
    for (uint32_t i = 0; i < b->param_count; i++) {
        const spyi_node *node = &b->nodes[i];
        if (node->leaf >= 0 && (b->leaves[node->leaf].traits & SPYI_TRAIT_SYSTEM)) continue;
        if (position-- == 0) return node->name;
    }
    return NULL;
}

// >>checking a value

static spy_status spyi_set_mismatch(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error) {
    spyi_text got = { NULL, 0, 0 };
    spyi_value_text(v, &got);
    spyi_text_add(error, "'%s': expected ", leaf->path);
    if (leaf->kind->run->expected) leaf->kind->run->expected(leaf, error);
    else spyi_text_add(error, "%s", leaf->kind->name);
    spyi_text_add(error, ", as it was recorded, got %s", spyi_text_str(&got));
    spyi_text_free(&got);
    return SPY_ERROR_TYPE_MISMATCH;
}

// Finds the leaf that the value is for, and packs the value into the list's scratch memory.
static spy_status spyi_set_prepare(spy_command_list *list, const spyi_list_call *call, const spyi_value *v,
                                   uint32_t position, spyi_set_place *place, spyi_text *error) {
    const char *path = v->name && v->name[0] ? v->name : spyi_set_name(&call->plan->bound, position);
    if (!path) {
        spyi_text_add(error, "argument %u: the function takes fewer arguments", position + 1);
        return SPY_ERROR_NOT_FOUND;
    }
    for (uint32_t i = 0; spyi_set_leaf(list, call, i, place); i++)
        if (spyi_set_is_value(place->leaf) && strcmp(place->leaf->path, path) == 0) break;
    if (!place->leaf) return spyi_set_not_found(list, call, path, error);
    if (!spyi_set_is_constant(place->leaf)) {
        spyi_text_add(
            error,
            "'%s': expected a value that was recorded as a number, host data or a random generator; "
            "what lies in memory stays that memory",
            path);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (v->direction != SPY_DIRECTION_DEFAULT || !place->leaf->kind->run->match(place->leaf, v))
        return spyi_set_mismatch(place->leaf, v, error);
    return spyi_pack_leaf(place->leaf, v, list->scratch, error);
}

// >>changing

static void spyi_set_write(spy_command_list *list, const spyi_list_call *call, const spyi_set_place *place) {
    for (uint32_t i = 0; i < call->op_count; i++) {
        uint8_t *at = spyi_set_find(&list->ops[call->first_op + i], place);
        if (at) memcpy(at, list->scratch, place->leaf->field_size);
    }
}

// Changes the graph's copies of the call's parameters. After a failure the graph is dropped, and the next
// submission makes a new one.
static spy_status spyi_set_graph(spy_command_list *list, const spyi_list_call *call, spyi_text *error) {
    spy_device *device = list->sink.object.device;
    spy_status status = SPY_OK;
    for (uint32_t i = 0; i < call->op_count && status == SPY_OK; i++) {
        const spyi_list_op *op = &list->ops[call->first_op + i];
        status = device->backend->graph_change(device->gpu, list->graph, op->dispatch, op->work, error);
    }
    if (status != SPY_OK) spyi_list_drop_graph(list);
    return status;
}

// Checks all values before it changes the first.
static spy_status spyi_list_set(spy_command_list *list, const spyi_list_call *call, spy_args args,
                                spyi_text *error) {
    spyi_values *values = list->sink.object.device->cache->values;
    spyi_set_place place;
    spy_status status = spyi_describe_args(list->sink.object.device, args, values, error);
    if (!call->op_count) return status; // the call has no elements
    for (int pass = 0; pass < 2; pass++) {
        uint32_t unnamed = 0;
        for (uint32_t i = 0; i < values->count && status == SPY_OK; i = spyi_value_end(values->items, i)) {
            const spyi_value *v = &values->items[i];
            uint32_t position = v->name && v->name[0] ? 0 : unnamed++;
            status = spyi_set_prepare(list, call, v, position, &place, error);
            if (status == SPY_OK && pass == 1) spyi_set_write(list, call, &place);
        }
    }
    return status == SPY_OK && list->graph ? spyi_set_graph(list, call, error) : status;
}

spy_status spy_list_set(spy_command_list *list, uint32_t call, spy_args args) {
    const char *function = "spy_list_set";
    spy_status status = spyi_enter(list, SPYI_KIND_LIST, function);
    if (status != SPY_OK) return status;
    spyi_text error = { NULL, 0, 0 };
    if (!list->finished) {
        spyi_text_add(&error, "the command list is still being recorded; call spy_list_finish() first");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (call >= list->call_count) {
        spyi_text_add(&error, "expected the number of one of the list's %zu calls, got %u", list->call_count,
                      call);
        status = SPY_ERROR_OUT_OF_RANGE;
    } else {
        status = spyi_list_set(list, &list->calls[call], args, &error);
        const spyi_list_call *c = &list->calls[call]; // the function may have been released with its module
        if (status != SPY_OK)
            spyi_text_add(&error, " (call %u%s%s)", call, c->op_count ? ": " : "",
                          c->op_count ? list->ops[c->first_op].name : "");
    }
    if (status != SPY_OK) spyi_fail_text(list->sink.object.device, status, function, &error);
    spyi_leave(list);
    return status;
}
