// Binds values to shader parameters by the same rules as arguments, but a shader parameter takes one value
// and the call does not run over it. This happens for each kernel and not with the plan, because only the
// compiled kernel says where the bytes of its inputs lie (plan/bound_inputs.c) and which globals a call's
// prelude adds. globals.c finds most errors earlier, by reflection.
#include "bind/inputs.h"
#include "bind/internal.h"

SPYI_FN spy_status spyi_bind_input(spy_function *function, const spyi_values *values, uint32_t index,
                                   const spyi_type *type, const char *path, spyi_bound *bound,
                                   spyi_text *error) {
    spyi_attempt a;
    int32_t node = -1;
    memset(&a, 0, sizeof a);
    a.function = function;
    a.unit = function->module->unit;
    a.finder = spyi_unit_finder(a.unit);
    a.types = function->object.device->types;
    a.values = values;
    a.whole = true;
    a.status = SPY_ERROR_OUT_OF_MEMORY;
    bool good = spyi_bind_value(&a, index, type, path, path, true, false, &node);
    for (uint32_t i = 0; good && i < a.bound.leaf_count; i++) {
        const spyi_leaf *leaf = &a.bound.leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        if (leaf->traits & SPYI_TRAIT_TENSOR)
            good = spyi_mismatch(&a, leaf->path, leaf->type, v, "; a uniform buffer takes host data");
        else if ((v->custom && !spyi_leaf_is_resource(leaf)) || leaf->batch_rank || v->map_count)
            good = spyi_mismatch(&a, leaf->path, leaf->type, v, "; a shader parameter takes one value");
    }
    if (good) *bound = a.bound;
    else {
        spyi_text_add(error, "%s", spyi_text_str(&a.reason));
        spyi_bound_free(&a.bound);
    }
    spyi_text_free(&a.reason);
    return good ? SPY_OK : a.status;
}

static bool spyi_add_input_leaf(spyi_input_leaves *leaves, spyi_leaf *leaf, bool parameter, const char *root,
                                const char *shown) {
    if (leaves->count == leaves->capacity) {
        uint32_t capacity = leaves->capacity ? leaves->capacity * 2 : 16;
        spyi_input_leaf *items = (spyi_input_leaf *)spyi_realloc(leaves->items, capacity * sizeof *items);
        if (!items) return false;
        leaves->items = items;
        leaves->capacity = capacity;
    }
    spyi_input_leaf *item = &leaves->items[leaves->count++];
    item->leaf = *leaf;
    item->root = root;
    item->shown = (uint32_t)strlen(shown);
    item->parameter = parameter;
    leaf->path = NULL;
    return true;
}

SPYI_FN spy_status spyi_bind_to_input(spy_function *function, const spyi_values *values, uint32_t index,
                                      const spyi_inputs *inputs, bool parameter, const char *root,
                                      const char *shown, spyi_input_leaves *leaves, spyi_text *error) {
    spyi_found found;
    spyi_bound bound;
    if (!spyi_find_input(inputs, root, parameter, &found)) return spyi_no_input(inputs, root, shown, error);
    spy_status status = spyi_bind_input(function, values, index, found.type, shown, &bound, error);
    if (status != SPY_OK) return status;
    for (uint32_t i = 0; status == SPY_OK && i < bound.leaf_count; i++)
        if (!spyi_add_input_leaf(leaves, &bound.leaves[i], parameter, root, shown))
            status = SPY_ERROR_OUT_OF_MEMORY;
    if (status != SPY_OK) spyi_text_add(error, "out of host memory");
    spyi_bound_free(&bound);
    return status;
}

SPYI_FN spy_status spyi_bind_globals(spy_function *function, const spyi_values *values,
                                     const spyi_inputs *inputs, bool partial, spyi_input_leaves *leaves,
                                     spyi_text *error) {
    spy_status status = SPY_OK;
    spyi_found found;
    uint32_t end = spyi_values_given(values);
    for (uint32_t i = values->count; status == SPY_OK && i < end; i = spyi_value_end(values->items, i)) {
        const char *path = values->items[i].name;
        if (!partial || spyi_find_input(inputs, path, false, &found))
            status = spyi_bind_to_input(function, values, i, inputs, false, path, path, leaves, error);
    }
    return status;
}

SPYI_FN bool spyi_find_leaf(const spyi_inputs *inputs, const spyi_input_leaf *leaf, spyi_text *path,
                            spyi_found *found) {
    spyi_text_clear(path);
    spyi_text_add(path, "%s%s", leaf->root, leaf->leaf.path + leaf->shown);
    return spyi_find_input(inputs, spyi_text_str(path), leaf->parameter, found);
}

SPYI_FN void spyi_input_leaves_free(spyi_input_leaves *leaves) {
    for (uint32_t i = 0; i < leaves->count; i++) free(leaves->items[i].leaf.path);
    free(leaves->items);
    memset(leaves, 0, sizeof *leaves);
}
