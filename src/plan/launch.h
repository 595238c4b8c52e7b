// Launches: the shapes and memory of a plan's running call, and of its last few calls. call/ computes a
// launch before it records anything.
#ifndef SPYI_PLAN_LAUNCH_H
#define SPYI_PLAN_LAUNCH_H

#include "emit/emit.h"

typedef struct spyi_variant spyi_variant;

#define SPYI_GEOMETRY_BYTES (offsetof(spy_tensor, contiguous) - offsetof(spy_tensor, shape))

typedef struct spyi_launch_leaf {
    spyi_storage *storage; // NULL until the call makes its temporaries
    uint64_t serial;       // the serial of the tensor that the members below describe
    // The number of the type, shape, strides and alignment that spyi_launch_leaf_repeats() asks for, unique
    // on the device. A tensor with the same number in its `like` repeats the leaf. 0 means that it has no
    // number yet.
    uint64_t like;
    uint64_t offset;     // the byte of element 0 in the storage
    uint64_t begin, end; // the elements' bytes in the storage, from `begin` up to `end`
    uint64_t reach;      // the end of the bytes that are read, since the last vector of a wide variant may
                         // pass `end`
    int64_t strides[SPY_MAX_RANK]; // the strides for each collapsed dimension, in memory elements
    int64_t inner[SPY_MAX_RANK];   // the strides for each consumed dimension, in elements
    uint32_t memory_size;          // the bytes of one memory element
    uint64_t binding_offset;       // the bytes from the start of the chunk; used with bindings
    uint64_t storage_offset;       // the bytes from the chunk's start to the storage at the time when
                                   // binding_offset was computed
    // The geometry of the tensor. When `bound` is false, a repeated call updates none of it, so only its
    // shape and strides are right.
    uint8_t geometry[SPYI_GEOMETRY_BYTES];
    bool bound;           // memory is reached by a binding, which is placed for this very offset
    uint64_t base;        // the memory elements from the binding's start to element 0
    uint64_t first;       // the memory elements from the lowest element to element 0; used with pointers
    uint64_t sums_offset; // the byte in sums_storage where this gradient's partial sums begin
} spyi_launch_leaf;

#define SPYI_MOST_PASSES 16

// One dispatch of a backward call, with the dispatch that finishes its sums.
typedef struct spyi_pass {
    uint64_t adds;   // bit i says that this pass adds to the gradient of leaf i
    uint64_t sums;   // bit i says that this pass sums the gradient of leaf i, because elements of the call
                     // share it
    uint32_t shared; // bit d says that elements along dimension d share these gradients
    bool together;   // some of the gradients lie in the same memory
} spyi_pass;

typedef struct spyi_launch {
    spy_shape shape; // the shape of the call
    int64_t count;   // the number of elements of the call
    uint32_t rank;   // the number of collapsed dimensions
    int64_t dims[SPY_MAX_RANK];
    spyi_variant_key key;
    bool plain; // the launch is for a pack's plain variant, which serves all shapes (call/launch.h)
    spyi_launch_leaf *leaves; // one for each leaf of the plan
    uint32_t groups[3]; // the group counts of the dispatch, in which long rows are folded into two dimensions
    uint32_t thread_groups[3]; // the group counts before folding
    uint8_t *block;            // the parameter block, packed for the variant
    uint32_t block_capacity;
    // These members are for backward calls. `pass` and `finishes` are inputs; spyi_launch_shape() computes
    // the other ones from them.
    uint32_t pass, pass_count;
    bool finishes;
    bool leaves_sums; // the pass leaves partial sums, which a second dispatch finishes
    spyi_pass passes[SPYI_MOST_PASSES];
    uint32_t kept; // the number of leading collapsed dimensions that are not summed over
    // The number of sums; the elements of each (in a finishing dispatch the parts); the elements that a team
    // adds; the parts of a sum, in the pass that leaves them and in this dispatch.
    uint32_t sums, each, length, parts, team_parts;
    uint64_t team_groups, sums_bytes;
    // Row-major strides of the call's elements along collapsed dimensions.
    int64_t element_strides[SPY_MAX_RANK];
    spyi_storage *sums_storage; // the sums of the running call
    // The variant of the last call, if a call with other base addresses and numbers may run it; otherwise
    // NULL.
    spyi_variant *repeatable;
    bool several;      // the call ran further variants, too; `again` has them
    // The second dispatch of a backward call of the batch engine, for calls that repeat the launch: its variant and number of
    // groups. NULL in other calls.
    spyi_variant *adds;
    uint32_t add_groups;
    spyi_graph *graph; // the dispatches that calls repeat; NULL means that there are none
    // The way in which a call's arguments repeat the launch, in one block of memory; NULL means that it is
    // not learnt yet.
    struct spyi_again *again;
} spyi_launch;

#endif // SPYI_PLAN_LAUNCH_H
