// The passes of a running backward call: makes the variants of all passes, then runs one dispatch after
// another.
#include "call/again.h"

SPYI_FN spy_status spyi_choose_passes(spyi_run_state *s, spyi_variant **first, bool *several, uint64_t *bytes,
                                      spyi_text *error) {
    spyi_launch *launch = s->launch;
    spyi_variant *variant = NULL;
    spy_status status;
    do { // repeats until no other thread had the device between the first pass and the last
        s->left = false;
        *several = false;
        *bytes = 0;
        launch->pass = 0;
        launch->finishes = false;
        status = spyi_choose(s, first, error);
        while (status == SPY_OK && !s->left && *first && spyi_next_pass(launch)) {
            if (launch->sums_bytes > *bytes) *bytes = launch->sums_bytes;
            *several = true;
            status = spyi_choose(s, &variant, error);
        }
        launch->pass = 0;
        launch->finishes = false;
    } while (status == SPY_OK && s->left);
    return status == SPY_OK && *several ? spyi_choose(s, first, error) : status;
}

SPYI_FN spy_status spyi_run_batch_again(spyi_run_state *s, spyi_variant *variant, bool timed,
                                        spyi_text *error) {
    spyi_launch *launch = s->launch;
    launch->groups[0] = launch->team_parts;
    spy_status status = spyi_dispatch_launch(s, variant, false, timed, error);
    launch->groups[0] = launch->add_groups;
    launch->finishes = true;
    if (status == SPY_OK) status = spyi_dispatch_launch(s, launch->adds, false, false, error);
    launch->finishes = false;
    return status;
}

SPYI_FN spy_status spyi_run_passes(spyi_run_state *s, spyi_variant *variant, bool timed, spyi_text *error) {
    spyi_launch *launch = s->launch;
    spy_status status = SPY_OK;
    spyi_again_notes notes;
    spyi_again_begin(&notes, s);
    do {
        if (launch->pass || launch->finishes) status = spyi_choose(s, &variant, error);
        // each flag has been cleared by spyi_choose()
        for (uint32_t i = 0; i < s->bound->leaf_count && status == SPY_OK; i++)
            if (s->made[i]) launch->leaves[i].storage = s->made[i]->storage;
        spyi_place_readback(s);
        if (status == SPY_OK && variant->key.bindings) status = spyi_launch_place(s->plan, error);
        if (status == SPY_OK) status = spyi_dispatch_launch(s, variant, false, timed, error);
        if (status == SPY_OK) spyi_again_note(&notes, s, variant);
        if (launch->key.batch == SPYI_BATCH_ENGINE && launch->finishes) {
            launch->adds = variant;
            launch->add_groups = launch->groups[0];
        }
        timed = false; // whether timing has begun
    } while (status == SPY_OK && spyi_next_pass(launch));
    launch->pass = 0;
    launch->finishes = false;
    launch->several = spyi_again_end(&notes, s, status);
    return status;
}
