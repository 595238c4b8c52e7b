// A leaf is a value that the kernel loads or stores as one. A number or tensor is one leaf; a struct that is
// given by fields has one leaf for each of them.
#ifndef SPYI_LEAF_H
#define SPYI_LEAF_H

#include "kinds/value.h"

// Tells whether a leaf is a value or another leaf's gradient, and how the kernel uses it.
typedef enum spyi_role {
    SPYI_ROLE_VALUE,
    SPYI_ROLE_READ,    // the gradient of an output in a backward call, or of an input in forward mode
    SPYI_ROLE_ADDED,   // the gradient of an input in a backward call, to which each element of the call adds
    SPYI_ROLE_WRITTEN, // the gradient of an output in forward mode
    SPYI_ROLE_INSIDE   // the gradient of a tensor passed whole, which the function itself reads or writes
} spyi_role;

// These are bits of spyi_leaf.whole_grads.
#define SPYI_WHOLE_LOADS 1u
#define SPYI_WHOLE_STORES 2u

typedef struct spyi_leaf {
    uint32_t traits;          // a combination of SPYI_TRAIT_...; a copy of the kind's traits, because every
                              // call reads them
    uint32_t value;           // the index of the leaf's spyi_value
    char *path;               // such as "x", "light.color", "_result"
    const spyi_type *type;    // the type of the variable in the kernel
    const spyi_type *element; // the type of an element in device memory
    const spyi_type *packed;  // the type of the element with its consumed dimensions, when these are
                              // contiguous
    bool in, out;
    bool splat;                // one number stands for each component of a vector or matrix
    uint32_t batch_rank;       // the number of leading dimensions, which the kernel runs over
    uint8_t map[SPY_MAX_RANK]; // the kernel dimension of each leading dimension
    uint32_t consumed;         // the number of trailing dimensions, which are part of one value
    // The sizes that the trailing dimensions must have; -1 means any size.
    int64_t consumed_dims[SPY_MAX_RANK];
    const spyi_value_kind *kind;      // the kind, whose `bind` fills the members up to kind_type
    uint32_t field_size, field_align; // the bytes in the parameter block; size 0 means that it has no field
    // For a tensor passed whole: the function may read it, or write it anywhere. For a texture: it is read,
    // or may be written.
    bool reads, writes;
    bool untracked;        // the function may reach memory that the library cannot track
    bool texels;           // the leaf is bound to a typed buffer: Buffer<T>, RWBuffer<T>
    bool binds;            // the leaf is bound to a parameter of the entry point
    uint8_t format;        // the spy_format of a texture that is written, if kernels name it; otherwise 0
    const char *kind_type; // the Slang type of a tensor passed whole, interned; or NULL
    uint32_t site; // the number of function and path for messages about bad indices; 0 means that they are
                   // not checked
    spyi_role role;
    uint32_t value_leaf; // the index of the value's leaf, in a gradient
    // The leaves of its gradients: the one that is read, and the one that is added to or written; 0 means
    // that there is none.
    uint32_t grads[2];
    // The bits of a tensor that is passed whole: SPYI_WHOLE_LOADS if its loads have gradients,
    // SPYI_WHOLE_STORES if its stores have.
    uint8_t whole_grads;
    bool exact;               // the leaf is a texture with gradients, and the kernel adds to its exact sums
    bool paired;              // the gradient of the whole tensor was given by spy_arg_diff_pair()
    spy_call_mode mode;       // the call's mode, in whole tensors with gradients
    bool param_in, param_out; // the parameter's direction in the function's declaration
    const spyi_type *differential; // the T.Differential of its type T, in calls that compute gradients; or
                                   // NULL
} spyi_leaf;

// Sets the leaf's kind and its traits.
SPYI_FN void spyi_leaf_set_kind(spyi_leaf *leaf, const spyi_value_kind *kind);
// Returns whether the kernel loads or stores the leaf in device memory by element.
SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf);
// Returns whether the leaf is a tensor that is passed whole.
SPYI_FN bool spyi_leaf_is_whole(const spyi_leaf *leaf);
// Returns whether the leaf is a resource that is no memory: a texture or sampler.
SPYI_FN bool spyi_leaf_is_resource(const spyi_leaf *leaf);
// Returns the first consumed dimension whose size in the value differs from consumed_dims, or leaf->consumed
// when all agree.
SPYI_FN uint32_t spyi_leaf_wrong_size(const spyi_leaf *leaf, const spyi_value *value);
// Returns whether several neighbouring elements of this leaf can be loaded as one vector.
SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf);

#endif // SPYI_LEAF_H
