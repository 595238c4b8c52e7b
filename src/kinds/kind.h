// The table of a kind: what bind, emit and call ask of values beyond numbers, host data, element-wise tensors and structs. Each
// such kind is a file of this room.
#ifndef SPYI_KIND_H
#define SPYI_KIND_H

#include "kinds/leaf.h"

// Where a value's expression stands.
typedef struct spyi_place_text {
    const char *field;   // its field in the parameter block: "spyi_block.x"
    const char *element; // number of the call's element, an int
    const char *shape;   // the call's shape, int[rank]; rank 0: one size of 1
    uint32_t rank;       // of the call
} spyi_place_text;

struct spyi_value_kind {
    const char *name; // in messages: "call_id"
    // SPY_ARG_CUSTOM: the argument's own data into value->rank and ->dims; false: *problem says what is wrong with it.
    // NULL: there is nothing to check.
    bool (*describe)(const spy_arg *arg, spyi_value *value, const char **problem);
    // Whether the value feeds leaf->type. Fills what the kind needs of the leaf; dimensions not consumed are run over.
    bool (*bind)(spyi_types *types, const spyi_value *value, spyi_leaf *leaf);
    // The Slang type of its field.
    void (*field)(const spyi_leaf *leaf, spyi_text *out);
    // Its value for one element, as an expression of leaf->type.
    void (*load)(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
    // Fills its field at each call; `field` is NULL where it is bound. false: `error` says what the call gave that does not fit.
    bool (*pack)(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);
};

#endif // SPYI_KIND_H
