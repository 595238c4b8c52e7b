// Decides how a variant reaches the memory of its leaves: through structured buffers, whose offsets are
// computed here, or through pointers.
#include "call/launch.h"

// Computes where the leaf's structured buffer begins: at an aligned offset that lies a whole number of
// elements before element 0. Returns false if there is none, or if the buffer is too large for the device.
static bool spyi_place_binding(const spyi_limits *limits, spyi_launch_leaf *leaf, bool vector) {
    uint64_t alignment = limits->binding_alignment;
    uint64_t at = (leaf->storage ? leaf->storage->offset : 0) + leaf->begin;
    uint64_t element = leaf->memory_size;
    uint64_t base = 0;
    // The binding of a vector begins at the leaf itself.
    while (!vector && at % alignment && at >= element && base < alignment) {
        at -= element;
        base++;
    }
    if (at % alignment) return false;
    if (leaf->reach - leaf->begin + base * element > limits->max_binding_bytes) return false;
    leaf->binding_offset = at;
    leaf->bound = true;
    leaf->base = base + (leaf->offset - leaf->begin) / element;
    return true;
}

SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error) {
    spyi_launch *launch = plan->launch;
    const spyi_limits *limits = &plan->function->object.device->base->limits;
    for (uint32_t i = 0; i < plan->bound.leaf_count; i++) {
        const spyi_leaf *leaf = &plan->bound.leaves[i];
        if (!spyi_is_walked(&plan->bound, launch, i) || (leaf->traits & SPYI_TRAIT_TENSOR)) continue;
        if (spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i))) continue;
        spyi_text_add(error, "'%s': its temporary does not fit into a structured buffer", leaf->path);
        return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

// Returns how many bindings the value may need: one, or one for each tensor or texture in a struct or
// an array of them.
static uint32_t spyi_tensor_count(const spyi_values *values, uint32_t value) {
    uint32_t count = 0, end = spyi_value_end(values->items, value);
    for (uint32_t i = value; i < end; i++)
        count += values->items[i].tensor != NULL || values->items[i].held[0] != NULL;
    return count ? count : 1;
}

// Returns whether the leaf would have two bindings: one of words, and one of the single elements
// that the last thread stores.
static bool spyi_has_two_bindings(const spyi_bound *b, const spyi_limits *limits, const spyi_launch *launch,
                                  uint32_t i) {
    const uint32_t columns = b->leaves[i].type->columns;
    return b->leaves[i].out && spyi_key_is_vector(&launch->key, i) && spyi_key_has_tail(&launch->key) &&
           spyi_key_words(&launch->key, spyi_rules_of(limits->profile.target), columns,
                          launch->leaves[i].memory_size / columns);
}

SPYI_FN void spyi_choose_access(const spyi_bound *b, const spyi_values *values, const spyi_limits *limits,
                                spyi_launch *launch) {
    uint64_t largest = 0;
    uint32_t memory_leaves = values->global_count; // each global may need a binding
    bool placed = true;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (b->leaves[i].binds) memory_leaves += spyi_tensor_count(values, b->leaves[i].value);
        if (!spyi_is_walked(b, launch, i)) continue;
        spyi_launch_leaf *leaf = &launch->leaves[i];
        uint64_t bytes = leaf->end - leaf->begin;
        if (bytes > largest) largest = bytes;
        if (bytes / leaf->memory_size >= ((uint64_t)1 << 31)) launch->key.index64 = 1;
        memory_leaves++;
        if (spyi_has_two_bindings(b, limits, launch, i)) memory_leaves++;
    }
    if (launch->key.index64 || memory_leaves > limits->profile.max_bindings) return;
    bool pointers = (limits->info.features & SPY_FEATURE_POINTERS) != 0;
    if (pointers && !limits->profile.prefers_bindings && largest < limits->profile.bindings_from_bytes)
        return;
    for (uint32_t i = 0; i < b->leaf_count && placed; i++) {
        if (spyi_is_walked(b, launch, i))
            placed = spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i));
    }
    launch->key.bindings = placed ? 1 : 0;
}
