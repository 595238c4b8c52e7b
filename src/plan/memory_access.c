// Finds which memory a variant's kernel reads and writes, once when the variant is made. Each call adds where
// that memory lies.
#include "plan/plan.h"

static void spyi_add_access(spyi_variant *variant, const spyi_leaf *leaf, uint32_t number) {
    bool resource = spyi_leaf_is_resource(leaf), whole = spyi_leaf_is_whole(leaf) || resource;
    spyi_memory_access *access = &variant->accesses[variant->access_count++];
    access->whole = whole;
    access->resource = resource ? leaf->kind->run->resource : NULL;
    variant->resources = variant->resources || resource;
    access->number = whole ? leaf->value : number;
    access->reads = whole ? leaf->reads : leaf->in;
    access->writes = whole ? leaf->writes : leaf->out;
}

SPYI_FN bool spyi_variant_find_accesses(const spyi_bound *b, spyi_variant *variant) {
    const spyi_bound_inputs *bound_inputs = &variant->bound_inputs;
    uint32_t most = b->leaf_count + bound_inputs->count;
    variant->accesses = (spyi_memory_access *)spyi_calloc(most + 1, sizeof *variant->accesses);
    // The 3 extra uses are those of sums, group counts and the print buffer.
    variant->use_capacity = most + 3;
    variant->uses = (spyi_use *)spyi_calloc(variant->use_capacity, sizeof *variant->uses);
    if (!variant->accesses || !variant->uses) return false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool skipped = variant->key.walk[i] & SPYI_WALK_SKIPPED;
        variant->untracked = variant->untracked || leaf->untracked;
        bool accessed = (leaf->traits & SPYI_TRAIT_TRACKED) || spyi_leaf_is_whole(leaf) ||
                        // Resources that a shader binds are among its inputs.
                        (spyi_leaf_is_resource(leaf) && !(b->shader && leaf->binds));
        if (accessed && !skipped) spyi_add_access(variant, leaf, i);
    }
    for (uint32_t i = 0; i < bound_inputs->count; i++) { // shader parameters are not walked
        const spyi_leaf *leaf = &bound_inputs->leaves[i];
        variant->untracked = variant->untracked || leaf->untracked;
        if (spyi_leaf_is_whole(leaf) || spyi_leaf_is_resource(leaf)) spyi_add_access(variant, leaf, 0);
    }
    if (!variant->resources) return true;
    free(variant->uses);
    variant->use_capacity = most * SPYI_MOST_VALUE_USES + 3;
    variant->uses = (spyi_use *)spyi_calloc(variant->use_capacity, sizeof *variant->uses);
    return variant->uses != NULL;
}

SPYI_FN bool spyi_variant_use_room(spyi_variant *variant, uint32_t more) {
    uint32_t own = variant->access_count * (variant->resources ? SPYI_MOST_VALUE_USES : 1u) + 3;
    if (own + more <= variant->use_capacity) return true;
    spyi_use *uses = (spyi_use *)spyi_realloc(variant->uses, (own + 2 * more) * sizeof *uses);
    if (!uses) return false;
    variant->uses = uses;
    variant->use_capacity = own + 2 * more;
    return true;
}
