// What a plan keeps of its running call, and of the last few ones: shapes and memory. call/ works it out before anything is recorded.
#ifndef SPYI_PLAN_LAUNCH_H
#define SPYI_PLAN_LAUNCH_H

#include "emit/emit.h"

typedef struct spyi_variant spyi_variant;

#define SPYI_GEOMETRY_BYTES (offsetof(spy_tensor, contiguous) - offsetof(spy_tensor, shape))

typedef struct spyi_launch_leaf {
    spyi_storage *storage; // NULL until temporaries are made
    uint64_t serial;       // of the tensor that the next ones tell of
    uint64_t offset;       // byte of element 0 in the storage
    uint64_t begin, end;   // bytes of its elements
    uint64_t reach; // end of what is read: the last vector of wide variants reaches beyond the elements
    int64_t strides[SPY_MAX_RANK]; // per collapsed dimension, in memory elements
    int64_t inner[SPY_MAX_RANK];   // per consumed dimension, in elements
    uint32_t memory_size;          // bytes of one memory element
    uint64_t binding_offset;       // in the chunk, when bindings are used
    uint64_t storage_offset;       // of the storage in the chunk when that was worked out
    uint8_t geometry
        [SPYI_GEOMETRY_BYTES]; // of the tensor; where `bound` is false only shape and strides are of today
    bool bound;     // memory is reached through a binding, whose place was worked out for this very offset
    uint64_t base;  // memory elements from there to element 0
    uint64_t first; // with pointers: from the lowest element to element 0
    uint64_t sums_offset; // of what teams leave, in its temporary
} spyi_launch_leaf;

#define SPYI_MOST_PASSES 16

// A dispatch of a backward call, and the one that finishes its sums.
typedef struct spyi_pass {
    uint64_t adds;   // leaves: the gradients that it adds to
    uint64_t sums;   // ... those that elements share
    uint32_t shared; // the call's dimensions whose elements share them; 0: none
    bool together;   // some of them lie in the same memory
} spyi_pass;

typedef struct spyi_launch {
    spy_shape shape; // of the call
    int64_t count;   // elements
    uint32_t rank;   // collapsed
    int64_t dims[SPY_MAX_RANK];
    spyi_variant_key key;
    spyi_launch_leaf *leaves;  // of the plan's bound call
    uint32_t groups[3];        // as dispatched
    uint32_t thread_groups[3]; // as a dispatch's caller counts them
    uint8_t *block;            // parameters, as packed for the variant
    uint32_t block_capacity;
    // Backward calls. `pass` and `finishes` are inputs; spyi_launch_shape() computes the other fields from them.
    uint32_t pass, pass_count;
    bool finishes;
    bool leaves_sums; // the pass leaves sums for one that finishes
    spyi_pass passes[SPYI_MOST_PASSES];
    uint32_t kept;                                  // collapsed dimensions whose elements do not share
    uint32_t sums, each, length, parts, team_parts; // parts: as the pass that leaves them has
    uint64_t team_groups, sums_bytes;
    int64_t element_strides[SPY_MAX_RANK]; // of the call's own elements along collapsed dimensions
    spyi_storage *sums_storage;            // of the running call
    // What the last call with this launch ran, when a call that differs in base addresses and numbers alone may run it again;
    // NULL: nothing is kept here.
    spyi_variant *repeatable;
    bool several;             // ... and further ones, which `again` has
    spyi_graph *graph;        // of several dispatches that come again; NULL: none
    struct spyi_again *again; // how a call's arguments repeat it, in one block of memory; NULL: not learnt
} spyi_launch;

#endif // SPYI_PLAN_LAUNCH_H
