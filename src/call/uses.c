// Which memory a call's dispatch reads and writes: barriers are made from it.
#include "call/run.h"

SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses) {
    uint32_t count = variant->touch_count;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_touch *touch = &variant->touches[i];
        spyi_use *use = &uses[i];
        if (touch->whole) {
            const spy_tensor *t = s->values->items[touch->number].tensor;
            use->storage = t->storage;
            use->begin = t->begin_bytes;
            use->end = t->end_bytes;
        } else {
            const spyi_launch_leaf *at = &s->launch->leaves[touch->number];
            use->storage = at->storage;
            use->begin = at->begin;
            use->end = at->end;
        }
        use->reads = touch->reads;
        use->writes = touch->writes;
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
