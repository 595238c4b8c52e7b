// Which memory a variant's kernel reads and writes: said once, when the variant is made; each call adds where that memory lies.
#include "plan/plan.h"

static void spyi_add_touch(spyi_variant *variant, const spyi_leaf *leaf, uint32_t number) {
    bool whole = spyi_leaf_is_whole(leaf);
    spyi_touch *touch = &variant->touches[variant->touch_count++];
    touch->whole = whole;
    touch->number = whole ? leaf->value : number;
    touch->reads = whole ? leaf->reads : leaf->in;
    touch->writes = whole ? leaf->writes : leaf->out;
}

SPYI_FN bool spyi_variant_touch(const spyi_bound *b, spyi_variant *variant) {
    const spyi_feeds *feeds = &variant->feeds;
    uint32_t most = b->leaf_count + feeds->count;
    variant->touches = (spyi_touch *)spyi_calloc(most + 1, sizeof *variant->touches);
    variant->uses =
        (spyi_use *)spyi_calloc(most + 3, sizeof *variant->uses); // sums, group counts, the print buffer
    if (!variant->touches || !variant->uses) return false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool skipped = variant->key.walk[i] & SPYI_WALK_SKIPPED;
        variant->untracked = variant->untracked || leaf->untracked;
        if (((leaf->traits & SPYI_TRAIT_TRACKED) || spyi_leaf_is_whole(leaf)) && !skipped)
            spyi_add_touch(variant, leaf, i);
    }
    for (uint32_t i = 0; i < feeds->count; i++) { // none is walked
        const spyi_leaf *leaf = &feeds->leaves[i];
        variant->untracked = variant->untracked || leaf->untracked;
        if (spyi_leaf_is_whole(leaf)) spyi_add_touch(variant, leaf, 0);
    }
    return true;
}
