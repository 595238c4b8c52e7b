// The tables of a kind: what bind and emit ask of an argument (build), and what plan, call and list ask at each call (run).
// Each kind is a file of this room. The build table has the compiler's types, the run table has layouts alone.
#ifndef SPYI_KIND_H
#define SPYI_KIND_H

#include "data/fit.h"
#include "kinds/leaf.h"

// What is true of each leaf of a kind. Those with "..." lie in memory, too.
enum {
    SPYI_TRAIT_VALUE = 1 << 0,          // the function gets a value of the parameter's own type
    SPYI_TRAIT_MEMORY = 1 << 1,         // the kernel loads or stores it in device memory
    SPYI_TRAIT_TENSOR = 1 << 2,         // ... of the argument's own tensor: other arguments may lie there
    SPYI_TRAIT_TRACKED = 1 << 3,        // ... from which barriers are made
    SPYI_TRAIT_ONE_PLACE = 1 << 4,      // ... of one value, for which each call waits
    SPYI_TRAIT_CALL_SHAPED = 1 << 5,    // ... of a new tensor of the call's shape, for the caller
    SPYI_TRAIT_SIZED = 1 << 6,          // the argument brings sizes, which the call's shape is made from
    SPYI_TRAIT_REPEATS = 1 << 7,        // a call of the same sizes can repeat the last launch
    SPYI_TRAIT_RETURNS = 1 << 8,        // an output comes back to host memory before the call returns
    SPYI_TRAIT_SYSTEM = 1 << 9,         // the system fills the parameter: it is no argument of the user's
    SPYI_TRAIT_OWN_GRADIENTS = 1 << 10, // the function itself reads and adds to its gradients
    SPYI_TRAIT_UNUSED = 1 << 11,        // nothing is loaded or stored
    SPYI_TRAIT_ADDRESS = 1 << 12,       // the parameter takes an address as a number, too
    SPYI_TRAIT_PARTS = 1 << 13          // the argument is given by its parts, which are bound besides
};

// How a field of the parameter block is filled. The pack program has an operation for each.
typedef enum spyi_field_op {
    SPYI_FIELD_NUMBER,
    SPYI_FIELD_BYTES,
    SPYI_FIELD_ARRAY,
    SPYI_FIELD_KIND
} spyi_field_op;

// How a call that repeats its plan's last one takes the argument over, without describing it.
typedef enum spyi_again_op {
    SPYI_AGAIN_NEVER,
    SPYI_AGAIN_NUMBER,
    SPYI_AGAIN_ARRAY, // from host memory into the block
    SPYI_AGAIN_TENSOR,
    SPYI_AGAIN_UNUSED, // a tensor that is only there
    SPYI_AGAIN_NEW     // makes a tensor
} spyi_again_op;

// What `bind` is told, and what it says besides what it puts into the leaf.
typedef struct spyi_fitting {
    spyi_types *types;
    bool result;    // the leaf is the function's result
    bool in_buffer; // the parameter lies in a uniform buffer, at a place that the user's code gave it
    bool in_shader; // ... in the parameters of a shader of the user's
    uint32_t cost;  // of conversions: the overload with the lowest is chosen
    spyi_text hint; // where it does not fit: what stands behind "expected float, got ..."
    spyi_text why;  // ... or the whole reason
} spyi_fitting;

// Where a value's expression stands.
typedef struct spyi_place_text {
    const char *field;   // its field in the parameter block: "spyi_block.x"
    const char *element; // number of the call's element, an int
    const char *shape;   // the call's shape, int[rank]; rank 0: one size of 1
    uint32_t rank;       // of the call
} spyi_place_text;

typedef struct spyi_kind_build {
    // Whether the value feeds leaf->type. Fills what the kind needs of the leaf; dimensions not consumed are run over.
    bool (*bind)(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf);
    // Once the call's rank is known. NULL: the leaf does not depend on it.
    void (*settle)(const spyi_value *value, uint32_t rank, spyi_leaf *leaf);
    // The Slang type of its field.
    void (*field)(const spyi_leaf *leaf, spyi_text *out);
    // Its value for one element, as an expression of leaf->type. NULL: it lies in memory, through which emit walks.
    void (*load)(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
    // What a parameter takes, for messages. `base`: its type's name, without namespace and arguments. Gives NULL for types that
    // are none of the kind's; `rules` may be NULL where only that is asked. NULL: the kind goes by the argument, whatever the parameter is.
    const char *(*takes)(const spyi_type *type, const char *base, const spyi_rules *rules);
    // The type that a tensor is passed as, where the parameter's own is still open: "RWTensor<float, 2>". NULL: it stays open.
    void (*type_name)(spyi_types *types, const spyi_type *type, const spyi_value *value, spyi_text *out);
} spyi_kind_build;

// The memory of one leaf in one call.
typedef struct spyi_made {
    spy_device *device;
    const spy_shape *shape; // of the call
    spy_tensor *tensor;     // that `make` has made
    void *place;            // SPYI_TRAIT_ONE_PLACE: where its value lies
} spyi_made;

// Of kinds whose memory each call makes.
typedef struct spyi_kind_memory {
    // Makes the memory and fills it with what goes in.
    spy_status (*make)(const spyi_leaf *leaf, const spyi_value *value, spyi_made *made, spyi_text *error);
    // Brings an output back to host memory after the call. NULL: it stays on the device.
    spy_status (*finish)(const spyi_leaf *leaf, const spyi_value *value, const spyi_made *made,
                         spyi_text *error);
    // The host memory that an output comes back to, of `size` bytes. NULL: it stays on the device.
    const char *(*host)(const spyi_leaf *leaf, const spyi_value *value, size_t *size);
} spyi_kind_memory;

#define SPYI_MOST_ADDRESSES 3 // of a field: a tensor's, and those of its two gradients

typedef struct spyi_kind_run {
    uint32_t traits;
    uint8_t field_op; // spyi_field_op
    uint8_t again_op; // spyi_again_op
    // SPY_ARG_KIND_CUSTOM: the argument's own data into value->rank and ->dims; false: *problem says what is wrong with it.
    // NULL: there is nothing to check.
    bool (*describe)(const spy_arg *arg, spyi_value *value, const char **problem);
    // Fills its field at each call; `field` is NULL where it is bound. false: `error` says what the call gave that does not fit.
    bool (*pack)(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);
    // Whether a recorded call can have this value in place of its own. NULL: what was recorded stays.
    bool (*match)(const spyi_leaf *leaf, const spyi_value *value);
    // What `match` takes, in messages. NULL: the kind's name.
    void (*expected)(const spyi_leaf *leaf, spyi_text *out);
    // Takes the gradients that the kernel adds to out of a packed field: a further pass must not add again. NULL: it has none.
    void (*stop_adding)(const spyi_leaf *leaf, void *field);
    // Where addresses stand in its packed field, at most SPYI_MOST_ADDRESSES of them; returns how many. NULL: there is none.
    uint32_t (*addresses)(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]);
    // Bytes of the elements that its field tells the number of, in a uniform buffer of their own. NULL: it has none.
    uint32_t (*elements)(const spyi_leaf *leaf, const spyi_value *value);
    const spyi_kind_memory *memory; // NULL: calls make none
} spyi_kind_run;

struct spyi_value_kind {
    const char *name; // in messages: "call_id"
    const spyi_kind_build *build;
    const spyi_kind_run *run;
};

#endif // SPYI_KIND_H
