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
        spyi_use *use = &uses[count++];
        use->storage = at->storage;
        use->begin = at->begin;
        use->end = at->end;
        use->reads = whole ? leaf->reads : leaf->in;
        use->writes = whole ? leaf->writes : leaf->out;
        use->counts = false;
    }
    if (s->launch->leaves_sums) {
        spyi_use *use = &uses[count++];
        memset(use, 0, sizeof *use);
        use->storage = s->launch->sums_storage;
        use->end = s->launch->sums_bytes;
        use->reads = s->launch->finishes;
        use->writes = !s->launch->finishes;
    }
    const spyi_feeds *feeds = &variant->feeds;
    *untracked = *untracked || feeds->untracked;
    for (uint32_t i = 0; i < feeds->count; i++) {
        const spyi_leaf *leaf = &feeds->leaves[i];
        const spy_tensor *t = s->values->items[leaf->value].tensor;
        if (!t) continue;
        spyi_use *use = &uses[count++];
        use->storage = t->storage;
        use->begin = t->begin_bytes;
        use->end = t->end_bytes;
        use->reads = leaf->reads;
        use->writes = leaf->writes;
        use->counts = false;
    }
    const spyi_threads *threads = s->values->threads;
    if (threads && threads->counts) {
        spyi_use *use = &uses[count++];
        memset(use, 0, sizeof *use);
        use->storage = threads->counts->storage;
        use->begin = threads->counts_at;
        use->end = use->begin + 12;
        use->reads = use->counts = true;
    }
    return count;
}
