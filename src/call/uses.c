// Collects the memory that a call's dispatch reads and writes. Barriers are made from it.
#include "call/run.h"

SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses) {
    uint32_t count = variant->access_count;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_memory_access *access = &variant->accesses[i];
        uint32_t how = spyi_how(access->reads, access->writes);
        if (access->whole) {
            const spy_tensor *t = s->values->items[access->number].tensor;
            uses[i] = spyi_use_of(&t->storage->resource, t->begin_bytes, t->end_bytes, how);
        } else {
            const spyi_launch_leaf *at = &s->launch->leaves[access->number];
            uses[i] = spyi_use_of(&at->storage->resource, at->begin, at->end, how);
        }
    }
    if (s->launch->leaves_sums) {
        uses[count++] = spyi_use_of(&s->launch->sums_storage->resource, 0, s->launch->sums_bytes,
                                    s->launch->finishes ? SPYI_USE_READS : SPYI_USE_WRITES);
    }
    const spyi_threads *threads = s->values->threads;
    if (threads && threads->counts) {
        uses[count++] = spyi_use_of(&threads->counts->storage->resource, threads->counts_at,
                                    threads->counts_at + 12, SPYI_USE_READS | SPYI_USE_COUNTS);
    }
    return count;
}
