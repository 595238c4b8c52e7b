// How a call repeats one that its plan made before: what must be as it was, and what changes in the launch's blocks.
#ifndef SPYI_CALL_AGAIN_H
#define SPYI_CALL_AGAIN_H

#include "call/run.h"

// One argument, or the gradient of one: what must be as it was, and what its value becomes.
typedef struct spyi_again_item {
    const char *name;      // "": by position
    const spyi_type *type; // of a tensor's elements
    uint8_t kind, direction, dtype, rank;
    uint8_t op;        // spyi_again_op
    uint8_t gradients; // of a tensor: spyi_gradients_of() it; 0: the call does not look at them
    uint8_t how;       // what the call does with its memory: SPYI_USE_...
    uint16_t leaf;     // of the plan
    uint32_t place_count;
    uint8_t **places;  // in the blocks of the dispatches: where its value or address stands
    uint8_t of, which; // of a gradient: the argument whose tensor has it, and which of the two it is
} spyi_again_item;

// One of several dispatches that a call makes.
typedef struct spyi_again_step {
    const spyi_variant *variant;
    uint8_t *block;
    uint8_t *launched; // the block as the launch's graph has it
    uint32_t groups[3];
    uint64_t sums_bytes;   // that it leaves, or takes from the step before; 0: neither
    bool finishes;         // it takes them
    uint32_t sum, sum_end; // of spyi_again.sums
} spyi_again_step;

// Where in a dispatch's block the address of a leaf's sums stands.
typedef struct spyi_again_sum {
    uint32_t offset;
    uint64_t at; // bytes from the start of the call's sums
} spyi_again_sum;

// In one block of memory.
typedef struct spyi_again {
    const spyi_variant *variant; // of the first dispatch
    uint64_t grid;               // spyi_launch_grid() of the device
    spyi_again_item *items;      // the arguments, and then the gradients of their tensors
    spyi_again_step *steps;      // NULL: one, of the launch's own block and groups
    spyi_again_sum *sums;
    const spyi_again_item *fresh; // of a new tensor; NULL: none is made
    uint32_t count, item_count, step_count;
    uint64_t sums_bytes; // of the largest step
    uint32_t runs;       // of several steps without a graph
} spyi_again;

// again_learn.c
// Learns how the call that has just been made, of one dispatch, is repeated.
SPYI_FN void spyi_again_learn(spyi_plan *plan, const spyi_values *values, const spyi_variant *variant);

// What a call of several dispatches was, noted while each of them is in the launch.
typedef struct spyi_again_notes {
    spyi_again_step steps[2 * SPYI_MOST_PASSES];
    uint32_t count;
    spyi_text blocks; // one behind the other
    bool fail;        // it cannot be repeated
    uint64_t reach[SPYI_MOST_MEMORY_LEAVES];
} spyi_again_notes;

SPYI_FN void spyi_again_begin(spyi_again_notes *notes, const spyi_run_state *s);
SPYI_FN void spyi_again_note(spyi_again_notes *notes, const spyi_run_state *s, const spyi_variant *variant);
// Learns from the notes, if all went well, and frees them. Whether the launch can be repeated.
SPYI_FN bool spyi_again_end(spyi_again_notes *notes, const spyi_run_state *s, spy_status status);

// again_steps.c
// Makes a call of several dispatches again. `uses`: of all of them, with room for one more.
SPYI_FN SPYI_NOINLINE spy_status spyi_again_run_steps(spyi_plan *plan, spyi_use *uses, uint32_t use_count,
                                                      spyi_text *error);

#endif // SPYI_CALL_AGAIN_H
