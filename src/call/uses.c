// Collects the memory that a call's dispatch reads and writes. Barriers are made from it.
#include "call/run.h"

SPYI_FN void spyi_unite_uses(spyi_use *uses, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) {
        for (uint32_t k = 0; k < first; k++) {
            bool overlap = uses[k].resource == uses[i].resource && uses[k].how >= SPYI_USE_TEXTURE &&
                           uses[k].begin < uses[i].end && uses[i].begin < uses[k].end;
            if (!overlap) continue;
            uses[i].how |= uses[k].how;
            uses[k].how = uses[i].how;
        }
    }
}

// Adds the uses of a texture behind the first `count` uses; returns the new number of uses.
static uint32_t spyi_collect_resource(const spyi_run_state *s, const spyi_memory_access *access,
                                      spyi_use *uses, uint32_t count) {
    const spyi_value *v = &s->values->items[access->number];
    uint32_t more = access->resource->uses(v, access->reads, access->writes, uses + count);
    spyi_unite_uses(uses, count, more);
    return count + more;
}

SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses) {
    uint32_t count = variant->access_count;
    for (uint32_t i = 0; i < variant->access_count; i++) {
        const spyi_memory_access *access = &variant->accesses[i];
        uint32_t how = spyi_how(access->reads, access->writes);
        if (access->resource) continue;
        if (access->whole) {
            const spy_tensor *t = s->values->items[access->number].tensor;
            uses[i] = spyi_use_of(&t->storage->resource, t->begin_bytes, t->end_bytes, how);
        } else {
            const spyi_launch_leaf *at = &s->launch->leaves[access->number];
            uses[i] = spyi_use_of(&at->storage->resource, at->begin, at->end, how);
        }
    }
    if (variant->resources) {
        count = 0; // memory comes first, then textures, which have a use for each part
        for (uint32_t i = 0; i < variant->access_count; i++)
            if (!variant->accesses[i].resource) uses[count++] = uses[i];
        for (uint32_t i = 0; i < variant->access_count; i++)
            if (variant->accesses[i].resource)
                count = spyi_collect_resource(s, &variant->accesses[i], uses, count);
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
