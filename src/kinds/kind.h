// The two function tables of a kind of value. bind and emit use `build` when a plan is made; plan, call and
// list use `run` at each call. Each kind is a file of src/kinds. The build table needs the compiler's types,
// the run table only their layouts.
#ifndef SPYI_KIND_H
#define SPYI_KIND_H

#include "data/fit.h"
#include "data/tensor.h"
#include "kinds/leaf.h"

// The traits of each leaf of a kind. A trait with "..." comes with SPYI_TRAIT_MEMORY.
enum {
    SPYI_TRAIT_VALUE = 1 << 0,       // the function gets a value of the parameter's own type
    SPYI_TRAIT_MEMORY = 1 << 1,      // the kernel loads or stores it in device memory
    SPYI_TRAIT_TENSOR = 1 << 2,      // ... which is the argument's own tensor: other arguments may share it
    SPYI_TRAIT_TRACKED = 1 << 3,     // ... and barriers are made for it
    SPYI_TRAIT_ONE_PLACE = 1 << 4,   // ... which is one value in readback memory; each call waits for it
    SPYI_TRAIT_CALL_SHAPED = 1 << 5, // ... which is a new tensor of the call's shape, for the caller
    SPYI_TRAIT_SIZED = 1 << 6,       // the argument has sizes, from which the call's shape is made
    SPYI_TRAIT_REPEATS = 1 << 7,     // a call of the same sizes can repeat the last launch
    SPYI_TRAIT_RETURNS = 1 << 8,     // an output comes back to host memory before the call returns
    SPYI_TRAIT_SYSTEM = 1 << 9,      // the GPU gives the value (SV_DispatchThreadID); the user does not
    SPYI_TRAIT_OWN_GRADIENTS = 1 << 10, // the function itself reads its gradient and adds to it
    SPYI_TRAIT_UNUSED = 1 << 11,        // the kernel neither loads nor stores it
    SPYI_TRAIT_ADDRESS = 1 << 12,       // the parameter also takes an address, given as a number
    SPYI_TRAIT_PARTS = 1 << 13,         // the argument is given by its parts, which have leaves of their own
    SPYI_TRAIT_RESOURCE = 1 << 14,      // a resource that is no memory, for which kind->run->resource is set
    SPYI_TRAIT_DIFF = 1 << 15,          // the argument's types with gradients are those of slangpy_diff
    SPYI_TRAIT_EXACT = 1 << 16,         // a deterministic call adds to its exact sums (call/sums.c)
    SPYI_TRAIT_TILED = 1 << 17 // neighbours in two dimensions lie together, so threads go tile by tile
};

// How a call fills a field of the parameter block. The pack program has one operation for each way.
typedef enum spyi_field_op {
    SPYI_FIELD_NUMBER,
    SPYI_FIELD_BYTES,
    SPYI_FIELD_ARRAY,
    SPYI_FIELD_KIND
} spyi_field_op;

// How a call that repeats its plan's last call updates the argument without describing it again.
typedef enum spyi_again_op {
    SPYI_AGAIN_NEVER,
    SPYI_AGAIN_NUMBER,
    SPYI_AGAIN_ARRAY, // copies host memory into the block
    SPYI_AGAIN_TENSOR,
    SPYI_AGAIN_UNUSED, // a tensor that the kernel neither loads nor stores
    SPYI_AGAIN_NEW,    // makes a tensor
    SPYI_AGAIN_PAIR    // a value and its gradient, both tensors, whose two items follow
} spyi_again_op;

// The inputs and results of spyi_kind_build.bind besides the value and the leaf. The first four members are
// inputs.
typedef struct spyi_fitting {
    spyi_types *types;
    const spyi_type_finder *finder; // finds types of the function's module by their names
    bool result;                    // the leaf is the function's result
    bool in_buffer;                 // the parameter lies in a uniform buffer, which the user's code lays out
    bool in_shader;                 // the function is a shader entry point of the user's, which runs as it is
    uint32_t cost;  // bind adds the costs of conversions; the overload with the lowest sum is chosen
    spyi_text hint; // after a misfit: the text that the message has behind "expected float, got ..."
    spyi_text why;  // after a misfit: the complete reason, which replaces `hint`, or empty
} spyi_fitting;

// Slang expressions that a kind can use in the expression of its value.
typedef struct spyi_place_text {
    const char *field;   // the value's field in the parameter block, such as "spyi_block.x"
    const char *binding; // the name of the value's binding, such as "b_x", if it has one
    const char *element; // the number of the call's element, an int
    const char *thread;  // the number of the element in the order of threads, which goes group by group in
                         // call groups
    const char *shape;   // the call's shape, int[rank]; a call of rank 0 has one size of 1
    // Followed by the number of a dimension of the call, it is the element's coordinate there: "spy_c". NULL
    // means that the kernel has no coordinates, and they are found from element and shape.
    const char *coordinate;
    uint32_t rank; // the number of dimensions of the call
} spyi_place_text;

typedef struct spyi_kind_build {
    // Returns whether the value fits leaf->type, and fills the leaf. The dimensions that it does not consume
    // are run over.
    bool (*bind)(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf);
    // Completes the leaf when the call's rank is known. NULL means that the leaf does not depend on the rank.
    void (*settle)(const spyi_value *value, uint32_t rank, spyi_leaf *leaf);
    // Writes the Slang type of the leaf's field in the parameter block.
    void (*field)(const spyi_leaf *leaf, spyi_text *out);
    // Writes the value for one element as an expression of leaf->type. NULL means that emit loads it from
    // memory.
    void (*load)(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out);
    // Returns the end of a message that says what a parameter of `type` takes, or NULL when the type does not
    // belong to this kind. `base` is the type's name without namespace and arguments. `rules` may be NULL
    // when the text does not matter. The function is NULL when the kind depends on the argument alone.
    const char *(*takes)(const spyi_type *type, const char *base, const spyi_rules *rules);
    // Writes the type by which a tensor or texture is passed when the parameter's own type is generic or an
    // interface: "RWTensor<float, 2>". NULL means that the parameter's own type is used.
    void (*type_name)(spyi_types *types, const spyi_type *type, const spyi_value *value, spyi_text *out);
    // Returns the kind that passes an argument of SPY_ARG_KIND_CUSTOM to a parameter of `type`. NULL means
    // this kind.
    const spyi_value_kind *(*choose)(const spyi_type *type);
    // Writes a statement, without its semicolon, that stores the variable `value` of an output for one
    // element. NULL means that outputs lie in memory.
    void (*store)(const spyi_leaf *leaf, const spyi_place_text *at, const char *value, spyi_text *out);
} spyi_kind_build;

// The memory of one leaf in one call.
typedef struct spyi_made {
    spy_device *device;
    const spy_shape *shape; // the shape of the call
    spy_tensor *tensor;     // the tensor that `make` has made, or NULL
    void *place;            // the value in mapped readback memory with SPYI_TRAIT_ONE_PLACE; otherwise NULL
} spyi_made;

// The functions of a kind whose memory is made anew by each call.
typedef struct spyi_kind_memory {
    // Makes the memory and uploads the argument's value if it is an input.
    spy_status (*make)(const spyi_leaf *leaf, const spyi_value *value, spyi_made *made, spyi_text *error);
    // Copies an output to host memory after the call. NULL means that the output stays on the device.
    spy_status (*finish)(const spyi_leaf *leaf, const spyi_value *value, const spyi_made *made,
                         spyi_text *error);
    // Returns the host memory that receives an output, and its bytes in *size. NULL means the same as for
    // `finish`.
    const char *(*host)(const spyi_leaf *leaf, const spyi_value *value, size_t *size);
} spyi_kind_memory;

#define SPYI_MOST_VALUE_USES 32 // the most uses of one value: those of a texture and then of its gradient

// The functions of a kind whose arguments are resources that are no memory: textures, samplers.
typedef struct spyi_kind_resource {
    // The spyi_kind of the objects to which the argument points: arg.value.data and, if it is not 0,
    // arg.dims[0]. 0 means that there is none. They are checked before `describe`, which finds them in
    // value->held.
    uint32_t objects[2];
    // Fills the binding of the value. `pack` with a NULL field has accepted the value.
    bool (*binding)(const spyi_leaf *leaf, const spyi_value *value, spyi_binding *out, spyi_text *error);
    // Writes the uses that a kernel makes of the value when it reads or writes it; returns their number, at
    // most SPYI_MOST_VALUE_USES.
    uint32_t (*uses)(const spyi_value *value, bool reads, bool writes, spyi_use *uses);
} spyi_kind_resource;

#define SPYI_MOST_ADDRESSES 3 // the most addresses in one field: those of a tensor and of its two gradients

typedef struct spyi_kind_run {
    uint32_t traits;
    uint8_t field_op; // a spyi_field_op
    uint8_t again_op; // a spyi_again_op
    // Checks the own data of an argument of SPY_ARG_KIND_CUSTOM and sets value->rank and ->dims. Returns
    // false when the data are wrong, with the reason in *problem. NULL means that there is nothing to check.
    bool (*describe)(const spy_arg *arg, spyi_value *value, const char **problem);
    // Writes the value into its field at each call. `field` is NULL for a value that is bound and has no
    // field. Returns false when the value does not fit, with the reason in `error`.
    bool (*pack)(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error);
    // Returns whether this value can replace that of a recorded call. NULL means that it never can.
    bool (*match)(const spyi_leaf *leaf, const spyi_value *value);
    // Writes what `match` accepts, for messages. NULL means that messages say the kind's name.
    void (*expected)(const spyi_leaf *leaf, spyi_text *out);
    // Clears, in a packed field, the address of the gradient that the kernel adds to, so that a further pass
    // does not add again. NULL means that the field has no such gradient.
    void (*stop_adding)(const spyi_leaf *leaf, void *field);
    // Writes the byte offsets of the addresses in the packed field; returns their number. NULL means that
    // there are none.
    uint32_t (*addresses)(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]);
    // Returns the bytes of the value's elements, which lie in a uniform buffer of their own while the field
    // holds their number. NULL means that the kind has no such elements.
    uint32_t (*elements)(const spyi_leaf *leaf, const spyi_value *value);
    const spyi_kind_memory *memory;     // NULL means that calls make no memory for the kind
    const spyi_kind_resource *resource; // the functions of a kind with SPYI_TRAIT_RESOURCE; otherwise NULL
} spyi_kind_run;

struct spyi_value_kind {
    const char *name; // the kind's name in messages, such as "call_id"
    const spyi_kind_build *build;
    const spyi_kind_run *run;
};

#endif // SPYI_KIND_H
