// A running call, as its files share it: memory of its own, uses, passes, the dispatch, results.
#ifndef SPYI_CALL_RUN_H
#define SPYI_CALL_RUN_H

#include "call/call.h"
#include "call/launch.h"

typedef struct spyi_run_state {
    spy_device *device;
    spyi_plan *plan;
    const spyi_bound *bound;
    const spyi_values *values;
    spyi_launch *launch;
    spy_tensor *made[SPYI_MOST_MEMORY_LEAVES]; // by leaf: temporaries and new tensors
    uint32_t readback_offset[SPYI_MOST_MEMORY_LEAVES];
    spyi_sink *sink; // records the call; NULL: it runs
    bool waits;      // something returns to host memory
    bool left;       // the device has been left to compile: the launch is worked out again
    bool timing;     // time_begin has been called
} spyi_run_state;

// temporaries.c
SPYI_FN spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error);
SPYI_FN void spyi_free_made(spyi_run_state *s, bool keep_new);
// What the leaf's kind is told of the memory that it makes.
SPYI_FN void spyi_describe_made(const spyi_run_state *s, uint32_t leaf, spyi_made *made);
SPYI_FN void spyi_place_readback(spyi_run_state *s); // where results to host memory go in this launch

// uses.c
// Results to host memory are left out: each call that has them waits.
SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses);

// results.c
// While a command list or an engine's command buffer is recorded into, no result can come back within the call.
SPYI_FN spy_status spyi_check_deferred(const spyi_run_state *s, spyi_text *error);
SPYI_FN spy_status spyi_return_results(spyi_run_state *s, spyi_text *error);
// After success: hands a new tensor to the caller, and describes results of whatever kind.
SPYI_FN void spyi_give_result(const spyi_leaf *leaf, const spy_arg *arg, spy_tensor *made);

// backward.c
// Every pass has its variant before the first one runs: what cannot be compiled must not be noticed half way. Leaves the
// launch as the first pass has it. `several`: there is more than one; `bytes`: what the sums of the largest need.
SPYI_FN spy_status spyi_choose_passes(spyi_run_state *s, spyi_variant **first, bool *several, uint64_t *bytes,
                                      spyi_text *error);
SPYI_FN spy_status spyi_run_passes(spyi_run_state *s, spyi_variant *variant, bool timed, spyi_text *error);

// run.c
// Shapes, checks and the variant to run, compiled if need be; NULL: there is nothing to do. Of a backward call: of the pass that
// the launch names.
SPYI_FN spy_status spyi_choose(spyi_run_state *s, spyi_variant **variant, spyi_text *error);
SPYI_FN spy_status spyi_dispatch_launch(spyi_run_state *s, spyi_variant *variant, bool repeats, bool timed,
                                        spyi_text *error);

// pack.c
// Fills plan->launch->block, the variant's uniform buffers, and `bindings`, which has room for all of the kernel's. `repeats`: the
// block holds the last call's, whose sizes and strides stay.
SPYI_FN spy_status spyi_pack_call(const spyi_plan *plan, const spyi_values *values,
                                  const spyi_variant *variant, bool repeats, spyi_binding *bindings,
                                  spyi_text *error);

#endif // SPYI_CALL_RUN_H
