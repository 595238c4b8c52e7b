// How a call repeats an earlier call of its plan: the members that are compared, and the places in the
// parameter blocks that change.
#ifndef SPYI_CALL_AGAIN_H
#define SPYI_CALL_AGAIN_H

#include "call/run.h"

// One argument, or one gradient of an argument's tensor: the properties that must be equal, and the places of
// its value.
typedef struct spyi_again_item {
    const char *name;      // "" if the argument was given by position
    const spyi_type *type; // element type of the tensor
    uint8_t kind, direction, dtype, rank;
    uint8_t op;           // a spyi_again_op
    uint8_t gradients;    // a tensor's spyi_gradients_of(); 0 means that the call does not use gradients
    uint8_t how;          // how the call uses the argument's memory: SPYI_USE_...
    uint16_t leaf;        // the index in the plan's leaves
    spyi_launch_leaf *at; // the leaf in the launch
    uint32_t place_count;
    uint8_t **places; // the addresses of the places in the blocks of its value or address
    // The argument's own mapping and type, as in spy_arg; those that are declared are the same in all calls of
    // the function. `explicit_way` is true when the argument has one of them.
    const char *cast;
    int8_t map[SPY_MAX_RANK];
    uint8_t map_count;
    bool explicit_way;
    uint8_t of, which; // for a gradient: the argument whose tensor has it, and its index in grads[]
    // The next members are for spyi_call_direct():
    uint64_t what;   // spy_arg.kind and .direction, which are neighbours
    uint64_t serial; // serial number of the tensor whose use direct_uses has for the argument; 0 if there is
                     // none
    bool is_result;  // the name is "_result"
} spyi_again_item;

// One of several dispatches that one call makes.
typedef struct spyi_again_step {
    const spyi_variant *variant;
    uint8_t *block;
    uint8_t *launched; // a copy of the block, as the launch's graph got it last
    uint32_t groups[3];
    uint64_t sums_bytes;   // the bytes of sums that this dispatch leaves or, if `finishes`, reads; 0 if there
                           // is none
    bool finishes;         // the dispatch reads the sums that the dispatch before it left
    uint32_t sum, sum_end; // entries of spyi_again.sums for this dispatch: the first, and one past the last
    // The uses of this dispatch, as numbers of the call's uses, which spyi_again_matches() makes.
    uint8_t use_count, uses[SPYI_MOST_MEMORY_LEAVES];
} spyi_again_step;

// The place in a dispatch's block where the address of a leaf's sums stands.
typedef struct spyi_again_sum {
    uint32_t offset;
    uint64_t at; // byte offset in the call's sums
} spyi_again_sum;

// How calls repeat one launch. The struct and all that it points to are one allocation.
typedef struct spyi_again {
    const spyi_variant *variant; // variant of the first dispatch
    uint64_t grid;               // spyi_launch_grid() of the device
    // item_count items: `count` of the arguments, with the parts of pairs behind them, then the gradients of
    // tensors.
    spyi_again_item *items;
    spyi_again_step
        *steps; // step_count dispatches; NULL means one dispatch with the launch's block and groups
    spyi_again_sum *sums;
    // The next members are for spyi_call_direct(): the uses that its last call made of the arguments' memory,
    // and the tracker's records of them. NULL means that the launch cannot be repeated that way.
    spyi_use *direct_uses;
    spyi_noted_uses direct_noted;
    const spyi_use *writes_from, *writes_to; // range of direct_uses that contains all uses that write
    const spyi_again_item
        *fresh;         // the item that makes a new tensor; NULL means that the call makes no tensor
    uint32_t arg_count; // the number of the arguments
    uint32_t count, item_count, step_count;
    uint64_t sums_bytes; // largest sums_bytes of the steps
    uint32_t runs;       // the number of calls of several steps that were made without a graph
    // No step writes memory that another step uses. Then every second call runs its steps in reverse, so that it begins
    // with the kernel that the backend has bound.
    bool any_order, reversed; // `reversed`: the last call ran its steps in reverse
} spyi_again;

typedef char spyi_again_what_fits[offsetof(spy_arg, direction) == offsetof(spy_arg, kind) + 4 &&
                                          sizeof(spy_arg_kind) == 4 && sizeof(spy_direction) == 4
                                      ? 1
                                      : -1];
// Returns the kind and the direction of an argument as one number.
static inline uint64_t spyi_again_what(const spy_arg *arg) {
    uint64_t what;
    memcpy(&what, &arg->kind, 8);
    return what;
}

// again_learn.c: learns from a call of one dispatch, which has just been made, how it is repeated.
SPYI_FN void spyi_again_learn(spyi_plan *plan, const spyi_values *values, const spyi_variant *variant);

// Returns whether the options have no pointers, and nothing that is only for one call.
SPYI_FN bool spyi_simple_options(const spy_call_options *o);

// Notes on a call of several dispatches. spyi_again_note() adds one dispatch while it is in the launch.
typedef struct spyi_again_notes {
    spyi_again_step steps[2 * SPYI_MOST_PASSES];
    uint32_t count;
    spyi_text blocks; // the blocks of all noted dispatches, one after another
    bool fail;        // the call cannot be repeated
    uint64_t reach[SPYI_MOST_MEMORY_LEAVES];
} spyi_again_notes;

SPYI_FN void spyi_again_begin(spyi_again_notes *notes, const spyi_run_state *s);
SPYI_FN void spyi_again_note(spyi_again_notes *notes, const spyi_run_state *s, const spyi_variant *variant);
// Learns from the notes if the call succeeded, and frees them. Returns whether the launch can be repeated.
SPYI_FN bool spyi_again_end(spyi_again_notes *notes, const spyi_run_state *s, spy_status status);

// again_steps.c: repeats a call of several dispatches. `uses` has the uses of all dispatches, and room for
// one more.
SPYI_FN SPYI_NOINLINE spy_status spyi_again_run_steps(spyi_plan *plan, spyi_use *uses, uint32_t use_count,
                                                      spyi_text *error);

#endif // SPYI_CALL_AGAIN_H
