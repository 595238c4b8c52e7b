// Which memory a call's dispatch reads and writes: barriers are made from it.
#include "call/run.h"

SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses,
                                   bool *untracked) {
    const spyi_bound *b = s->bound;
    uint32_t count = 0;
    *untracked = false;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_launch_leaf *at = &s->launch->leaves[i];
        *untracked = *untracked || leaf->untracked;
        bool whole = spyi_leaf_is_whole(leaf);
        if (!(leaf->traits & SPYI_TRAIT_TRACKED) && !whole) continue;
        if (s->launch->key.walk[i] & SPYI_WALK_SKIPPED) continue;
        uses[count++] =
            spyi_use_of(&at->storage->resource, at->begin, at->end,
                        spyi_how(whole ? leaf->reads : leaf->in, whole ? leaf->writes : leaf->out));
    }
    if (s->launch->leaves_sums) {
        uses[count++] = spyi_use_of(&s->launch->sums_storage->resource, 0, s->launch->sums_bytes,
                                    s->launch->finishes ? SPYI_USE_READS : SPYI_USE_WRITES);
    }
    const spyi_feeds *feeds = &variant->feeds;
    *untracked = *untracked || feeds->untracked;
    for (uint32_t i = 0; i < feeds->count; i++) {
        const spyi_leaf *leaf = &feeds->items[i].leaf;
        const spy_tensor *t = s->values->items[leaf->value].tensor;
        if (!t) continue;
        uses[count++] = spyi_use_of(&t->storage->resource, t->begin_bytes, t->end_bytes,
                                    spyi_how(leaf->reads, leaf->writes));
    }
    const spyi_threads *threads = s->values->threads;
    if (threads && threads->counts) {
        uses[count++] = spyi_use_of(&threads->counts->storage->resource, threads->counts_at,
                                    threads->counts_at + 12, SPYI_USE_READS | SPYI_USE_COUNTS);
    }
    return count;
}
