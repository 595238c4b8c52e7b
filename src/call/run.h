// The state of one running call, and the functions that the files of src/call share.
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
    spy_tensor *made[SPYI_MOST_MEMORY_LEAVES]; // for each leaf, the temporary or new tensor of this call
    uint32_t readback_offset[SPYI_MOST_MEMORY_LEAVES];
    spyi_sink *sink; // records the call; NULL means that the call runs
    bool waits;      // the call waits for results in host memory
    bool left;       // the device was left to compile: the launch must be computed again
    bool timing;     // time_begin has been called
} spyi_run_state;

// temporaries.c: makes the temporaries and new tensors of the call.
SPYI_FN spy_status spyi_make_memory(spyi_run_state *s, spyi_text *error);
SPYI_FN void spyi_free_made(spyi_run_state *s, bool keep_new);
// Fills `made`, with which the leaf's kind makes and finishes its memory.
SPYI_FN void spyi_describe_made(const spyi_run_state *s, uint32_t leaf, spyi_made *made);
SPYI_FN void spyi_place_readback(spyi_run_state *s); // sets the place of each result in the readback buffer

// uses.c: fills `uses` and returns their number. Results in host memory are left out, because each call that
// has them waits.
SPYI_FN uint32_t spyi_collect_uses(const spyi_run_state *s, const spyi_variant *variant, spyi_use *uses);

// Gives the uses that several arguments make of parts of one image one way of use, the union of all of them,
// because a part has one layout during the work. Uses from `first` on are united with those before them.
SPYI_FN void spyi_unite_uses(spyi_use *uses, uint32_t first, uint32_t count);

// results.c: fails for results in host memory if the call is recorded into a command list or an engine's
// command buffer.
SPYI_FN spy_status spyi_check_deferred(const spyi_run_state *s, spyi_text *error);
SPYI_FN spy_status spyi_return_results(spyi_run_state *s, spyi_text *error);
// After success: hands a new tensor to the caller, and fills the spy_result of an SPY_ARG_KIND_RESULT
// argument.
SPYI_FN void spyi_give_result(const spyi_leaf *leaf, const spy_arg *arg, spy_tensor *made);

// backward.c: makes the variants of all passes before the first pass runs, so that a compile error leaves
// every output as it was. Afterwards the launch is that of the first pass. Sets *several when the call has
// more than one dispatch, and *bytes to the most bytes that the sums of one pass need.
SPYI_FN spy_status spyi_choose_passes(spyi_run_state *s, spyi_variant **first, bool *several, uint64_t *bytes,
                                      spyi_text *error);
SPYI_FN spy_status spyi_run_passes(spyi_run_state *s, spyi_variant *variant, bool timed, spyi_text *error);
// Runs both dispatches of a backward call of the batch engine that repeats its launch. `variant` is that of the
// first one.
SPYI_FN spy_status spyi_run_batch_again(spyi_run_state *s, spyi_variant *variant, bool timed,
                                        spyi_text *error);

// run.c: computes the launch, checks it, and gives its variant, which is compiled if necessary. *variant is
// NULL if the call has no elements. For backward calls it is the variant of launch->pass.
SPYI_FN spy_status spyi_choose(spyi_run_state *s, spyi_variant **variant, spyi_text *error);
SPYI_FN spy_status spyi_dispatch_launch(spyi_run_state *s, spyi_variant *variant, bool repeats, bool timed,
                                        spyi_text *error);

// pack.c: fills plan->launch->block, the variant's uniform buffers, and `bindings`, which has room for all
// bindings of the kernel. With `repeats` the block already has the sizes and strides, which are not packed
// again.
SPYI_FN spy_status spyi_pack_call(const spyi_plan *plan, const spyi_values *values,
                                  const spyi_variant *variant, bool repeats, spyi_binding *bindings,
                                  spyi_text *error);

#endif // SPYI_CALL_RUN_H
