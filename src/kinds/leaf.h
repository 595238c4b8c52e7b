// A leaf: a place where the kernel loads or stores. A number or tensor is one leaf; a struct given by fields is one for each.
#ifndef SPYI_LEAF_H
#define SPYI_LEAF_H

#include "kinds/value.h"

// What a leaf is to its call: a value, or another leaf's gradient.
typedef enum spyi_role {
    SPYI_ROLE_VALUE,
    SPYI_ROLE_READ,    // of an output going backward, of an input in forward mode
    SPYI_ROLE_ADDED,   // of an input going backward: each element of the call adds to it
    SPYI_ROLE_WRITTEN, // of an output in forward mode
    SPYI_ROLE_INSIDE   // of a tensor that is taken whole: the function goes there by itself
} spyi_role;

#define SPYI_WHOLE_LOADS 1u
#define SPYI_WHOLE_STORES 2u

typedef struct spyi_leaf {
    uint32_t traits;          // of its kind: SPYI_TRAIT_...; a copy, since every call asks
    uint32_t value;           // index of its value
    char *path;               // "x", "light.color", "_result"
    const spyi_type *type;    // of the variable in the kernel
    const spyi_type *element; // as elements lie in device memory
    const spyi_type *packed;  // the element with its consumed dimensions, when these are contiguous
    bool in, out;
    bool splat;                // a number for a whole vector or matrix
    uint32_t batch_rank;       // leading dimensions, run over by the kernel
    uint8_t map[SPY_MAX_RANK]; // kernel dimension of each
    uint32_t consumed;         // trailing dimensions, part of one value
    int64_t consumed_dims[SPY_MAX_RANK];
    const spyi_value_kind *kind;      // what is there; the next four are its own
    uint32_t field_size, field_align; // bytes of its field in the parameter block; 0: it has none
    bool reads, writes;               // anywhere in the memory of a tensor that the function gets itself
    bool untracked;                   // memory that we do not know of
    bool texels;                      // the buffer that it is bound to is a typed one
    bool binds;                       // its field is a parameter of the entry point, bound to its tensor
    const char *kind_type;            // Slang type that it says, interned
    uint32_t site; // number of function and path in messages about indices; 0: they are not checked
    spyi_role role;
    uint32_t value_leaf; // of a gradient: the leaf that it belongs to
    uint32_t grads[2];   // leaves of its gradients: read, and added to or written; 0: none
    uint8_t whole_grads; // a tensor taken whole with gradients: SPYI_WHOLE_LOADS and _STORES ask for them
    bool paired;         // ... its gradient was given by itself
    spy_call_mode mode;  // ... of the call
    bool param_in, param_out;      // how the function takes it, when the call computes gradients
    const spyi_type *differential; // ... its T.Differential; NULL: it has none
} spyi_leaf;

// Makes the leaf one of a kind.
SPYI_FN void spyi_leaf_set_kind(spyi_leaf *leaf, const spyi_value_kind *kind);
// Whether a leaf lies in device memory; else it travels in the block.
SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf);
// Whether it is a tensor that a kind passes whole.
SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf);
// The first of the dimensions that the leaf's type takes whose size in the value is not the one that it must be. Gives
// leaf->consumed: all of them fit.
SPYI_FN uint32_t spyi_leaf_wrong_size(const spyi_leaf *leaf, const spyi_value *value);
// Whether several neighbours of this leaf can be loaded as one vector.
SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf);

#endif // SPYI_LEAF_H
