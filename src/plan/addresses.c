// Finds where the parameters of a dispatch have addresses. Only pack operations write addresses, so that
// recorded work can be moved to other memory.
#include "kinds/kinds.h"
#include "plan/recipe.h"

typedef struct spyi_address_walk {
    bool in_uniforms;
    void (*visit)(void *user, bool in_uniforms, uint32_t offset);
    void *user;
} spyi_address_walk;

static void spyi_walk_addresses(const spyi_address_walk *w, const spyi_pack *packs, uint32_t count,
                                const spyi_leaf *leaves) {
    uint32_t offsets[SPYI_MOST_ADDRESSES] = { 0, 0, 0 };
    for (uint32_t i = 0; i < count; i++) {
        const spyi_pack *pack = &packs[i];
        uint32_t (*addresses)(const spyi_leaf *, uint32_t *) =
            pack->op == SPYI_PACK_KIND ? leaves[pack->leaf].kind->run->addresses : NULL;
        bool one = pack->op == SPYI_PACK_ADDRESS || pack->op == SPYI_PACK_SUMS || pack->op == SPYI_PACK_PRINT;
        uint32_t found = one ? 1 : addresses ? addresses(&leaves[pack->leaf], offsets) : 0;
        for (uint32_t k = 0; k < found; k++)
            w->visit(w->user, w->in_uniforms, pack->offset + (one ? 0 : offsets[k]));
    }
}

SPYI_FN void spyi_variant_addresses(const spyi_plan *plan, const spyi_variant *variant,
                                    void (*visit)(void *user, bool in_uniforms, uint32_t offset),
                                    void *user) {
    const spyi_bound_inputs *bound_inputs = &variant->bound_inputs;
    spyi_address_walk walk = { false, visit, user };
    spyi_walk_addresses(&walk, variant->emitted.packs, variant->emitted.pack_count, plan->bound.leaves);
    walk.in_uniforms = true;
    spyi_walk_addresses(&walk, bound_inputs->packs, bound_inputs->pack_count, bound_inputs->leaves);
}
