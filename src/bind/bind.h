// Binding: arguments are described as values, signed with a key, and matched to the parameters of one overload.
#ifndef SPYI_BIND_H
#define SPYI_BIND_H

#include "module/module.h"

typedef struct spyi_value_kind spyi_value_kind;

// >>values: what an argument is, in the order in which arguments are written, a struct before its fields
typedef struct spyi_value {
    const spy_arg *arg; // where its data is; NULL in the copies that compile threads use
    const char *name;   // NULL: by position
    uint8_t kind;       // spy_arg_kind
    uint8_t direction;  // spy_direction
    uint8_t rank;       // tensors and host arrays
    uint8_t map_count;
    bool whole;           // an explicit mapping of no dimensions
    bool one_value;       // ... of a value that is run over where no overload takes it whole
    uint32_t child_count; // struct: its fields, which follow
    uint32_t size;        // SPY_ARG_DATA: bytes
    const int8_t *map;
    const char *cast;      // explicit Slang type, or NULL
    const spyi_type *type; // element of tensors, host arrays and numbers; else NULL
    const int64_t *dims;   // of tensors, host arrays and custom values; theirs may be -1: any size
    spy_tensor *tensor;
    const spyi_value_kind *custom; // SPY_ARG_CUSTOM
    uint32_t grads[2]; // calls that compute gradients: numbers of those of a tensor, behind all arguments; 0: none
} spyi_value;

// >>options: what a call's options say to its kernel, checked and copied
typedef struct spyi_options {
    char *prelude; // with the constants' declarations before it
    char **conformances;
    uint32_t conformance_count;
    uint32_t threads[3]; // of a group; 0: chosen
    spy_shape group;     // of the call, aligned at the last dimension; rank 0: none
    uint32_t count_rank; // of thread_count
    spy_call_mode mode;
    bool deterministic;
} spyi_options;

// Values that a hook sets. Kept from call to call: they do not allocate.
struct spy_globals {
    spy_arg *items;
    uint32_t count, capacity;
    bool failed; // out of memory
};

// Options with all that they point to, for calls that are made later. All zero: none.
typedef struct spyi_kept_options {
    spy_call_options options;
    spy_packed *constants, *globals; // their lists, as structs
    bool given;
} spyi_kept_options;

// >>dispatches: an explicit number of threads
typedef struct spyi_threads {
    uint32_t count[3]; // in x, y, z
    uint32_t group[3];
    bool guarded;             // threads beyond the count do nothing
    const spy_tensor *counts; // group counts that the GPU reads when it runs; NULL: `count` says
    uint64_t counts_at;       // byte of the first in its storage
    bool shader;              // the function is an entry point with [numthreads], and runs as it is
} spyi_threads;

// The values of one call and the key that its plan is found by. Owned by the cache and reused: calls do not allocate.
typedef struct spyi_values {
    spyi_value *items;
    uint32_t count, capacity;
    uint8_t *key;
    uint32_t key_size, key_capacity;
    const spy_call_options *options; // NULL: none
    uint32_t global_count;           // values of globals and their fields, behind the arguments
    uint32_t grad_count;             // gradients of tensors, behind those
    struct spy_globals written;      // what the options' hook has set
    spy_shape thread_count;          // theirs
    const spyi_threads *threads;     // of a dispatch; NULL: a call
    struct spyi_values *next;        // among the cache's spare ones
} spyi_values;

// Fills `values` from `args` and `options` (may be NULL); on failure an error naming the argument.
SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error);
// Values of arguments alone, for no call.
SPYI_FN spy_status spyi_describe_args(spy_device *device, spy_args args, spyi_values *values, spyi_text *error);
// Whether the system fills it: no argument of the user's.
SPYI_FN bool spyi_is_system(const spyi_value *value);
SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size); // false: out of memory
// options.c: checks options and appends to the key what kernels depend on; copies them for a plan.
SPYI_FN spy_status spyi_describe_options(const spy_call_options *options, spyi_values *values,
                                         spyi_text *error);
SPYI_FN spy_status spyi_options_copy(spy_function *function, const spyi_values *values, spyi_options *options,
                                     spyi_text *error);
SPYI_FN void spyi_options_free(spyi_options *options);
SPYI_FN spy_call_mode spyi_mode_of(const spyi_values *values);
// A copy of options (NULL: none) that outlives the caller's; freed whether this fails or not.
SPYI_FN spy_status spyi_options_keep(const spy_call_options *options, spyi_kept_options *kept,
                                     spyi_text *error);
SPYI_FN void spyi_kept_free(spyi_kept_options *kept);
// Appends trailing sizes of tensors and arrays to the key, for calls whose types depend on them: `sizes[i]` of value i.
SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes);
SPYI_FN spy_shape spyi_value_shape(const spyi_value *value); // of tensors and host arrays; others: rank 0
SPYI_FN void spyi_values_free(spyi_values *values);
// "float3 tensor (480, 640)", "int 3", "struct of 2 fields": for messages.
SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out);
// Index of the value after this one and its fields.
SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index);

// >>what feeds what

// How an element type in memory feeds a parameter type: the trailing dimensions it takes and what the conversion costs.
typedef struct spyi_fit {
    uint32_t cost;
    uint32_t consumed;
    int64_t dims[SPY_MAX_RANK]; // sizes that the consumed dimensions must have
} spyi_fit;

// Device memory of `element` for a parameter of `type`. Outputs must not change scalars. false: it cannot.
SPYI_FN bool spyi_fit_memory(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// Device memory that takes values of `type` and is not loaded: each is converted as Slang converts it, and bools are not.
SPYI_FN bool spyi_fit_stored(const spyi_type *element, const spyi_type *type, spyi_fit *fit);
// Host data: scalars are converted as they are copied, so more is possible.
SPYI_FN bool spyi_fit_host(const spyi_type *element, const spyi_type *type, bool output, spyi_fit *fit);
// `type` with its scalars replaced: float3 and SPY_INT32 give int3. Not for structs.
SPYI_FN const spyi_type *spyi_type_with_scalar(spyi_types *types, const spyi_type *type, spy_dtype scalar);

// >>the result of binding

typedef enum spyi_source {
    SPYI_SOURCE_SCALAR,   // a number: converted into the parameter block
    SPYI_SOURCE_BYTES,    // host bytes of one value, into the block
    SPYI_SOURCE_INLINE,   // a host array that feeds one value, into the block
    SPYI_SOURCE_TENSOR,   // the argument's tensor
    SPYI_SOURCE_UPLOAD,   // a host array that is run over, through a temporary tensor
    SPYI_SOURCE_NEW,      // a new tensor
    SPYI_SOURCE_READBACK, // one value that returns to host memory
    SPYI_SOURCE_KIND,     // what leaf.kind says
    SPYI_SOURCE_NONE      // an output of a backward call, which is not computed
} spyi_source;

// What a leaf is to its call: a value, or another leaf's gradient.
typedef enum spyi_role {
    SPYI_ROLE_VALUE,
    SPYI_ROLE_READ,   // of an output going backward, of an input in forward mode
    SPYI_ROLE_ADDED,  // of an input going backward: each element of the call adds to it
    SPYI_ROLE_WRITTEN, // of an output in forward mode
    SPYI_ROLE_INSIDE  // of a tensor that is taken whole: the function goes there by itself
} spyi_role;

#define SPYI_WHOLE_LOADS 1u
#define SPYI_WHOLE_STORES 2u

// A place where the kernel loads or stores.
typedef struct spyi_leaf {
    spyi_source source;
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
    const spyi_value_kind *kind;      // SPYI_SOURCE_KIND; the next four are its own
    uint32_t field_size, field_align; // bytes of its field in the parameter block; 0: it has none
    bool reads, writes;               // memory of its tensor, anywhere
    bool untracked;                   // memory that we do not know of
    bool texels;                      // the buffer that it is bound to is a typed one
    bool binds;                       // its field is a parameter of the entry point, bound to its tensor
    const char *kind_type;            // Slang type that it says, interned
    uint32_t site;                    // number of function and path in messages about indices; 0: they are not checked
    spyi_role role;
    uint32_t value_leaf;           // of a gradient: the leaf that it belongs to
    uint32_t grads[2];             // leaves of its gradients: read, and added to or written; 0: none
    uint8_t whole_grads;           // a tensor taken whole with gradients: SPYI_WHOLE_LOADS and _STORES ask for them
    bool paired;                   // ... its gradient was given by itself
    spy_call_mode mode;            // ... of the call
    bool param_in, param_out;      // how the function takes it, when the call computes gradients
    const spyi_type *differential; // ... its T.Differential; NULL: it has none
} spyi_leaf;

// >>kinds of values beyond numbers, host data, element-wise tensors and structs: a file each in kinds/

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

// The kind that passes a tensor whole, or an address, to a parameter of such a type; NULL: there is none.
SPYI_FN const spyi_value_kind *spyi_kind_of_parameter(const spyi_type *type, const spyi_value *value);
// A tensor's gradients that the kernel adds to, out of the field of such a tensor: a further pass must not add again.
SPYI_FN void spyi_whole_stop_adding(const spyi_leaf *leaf, void *field);
// Whether it is the kind of TensorView<T> and DiffTensorView<T> parameters.
SPYI_FN bool spyi_kind_is_view(const spyi_value_kind *kind);
// What such a parameter takes, for messages; NULL: it is none.
SPYI_FN const char *spyi_kind_takes(const spyi_type *type, spyi_target target);
// The kind of ConstantBuffer<T> and ParameterBlock<T> parameters, given whole or by fields, and of arrays of buffers.
SPYI_FN const spyi_value_kind *spyi_kind_of_holders(void);
// The kind of T[] itself, whose field is an address, which the device fills in, and a count.
#define SPYI_UNSIZED_BYTES 16u
SPYI_FN const spyi_value_kind *spyi_kind_of_unsized(void);
SPYI_FN uint32_t spyi_unsized_stride(const spyi_type *type); // bytes of an element
// What a tensor is for a parameter "RWTensor<T, D>" that is still open: "RWTensor<float, 2>".
SPYI_FN void spyi_whole_type_name(spyi_types *types, const spyi_type *type, const spyi_value *value,
                                  spyi_text *out);

// A parameter or field of the kernel's call, built from a leaf or from its own fields.
typedef struct spyi_node {
    char *name;
    const spyi_type *type;
    int32_t leaf;          // -1: fields
    uint32_t first, count; // fields, in the node list
    bool in, out;
} spyi_node;

typedef struct spyi_bound {
    spyi_signature signature; // of the chosen overload, with concrete types
    spyi_leaf *leaves;
    uint32_t leaf_count;
    spyi_node *nodes; // parameters that get an argument, then "_result" if given, then fields
    uint32_t node_count;
    uint32_t param_count; // parameters that get an argument
    bool has_result;      // nodes[param_count] is "_result"
    uint32_t rank;        // dimensions of the kernel
    bool strict;          // strict_broadcasting
    spyi_options options;
    bool uses_library;  // some kind's expressions need `import slangpy_kernel`, and the call's shape
    bool names_library; // the kernel itself says names of slangpy: of its tensors, or for call_info
    bool dispatch;      // threads are counted by the caller; arguments are passed whole
    bool guarded;       // spyi_threads.guarded
    bool shader;        // spyi_threads.shader
    bool call_info;     // the module may ask where in the call it is: it imports slangpy
    spy_call_mode mode;
    bool grads_inside[2]; // the function itself reads, and adds to or writes, gradients of tensors that it takes whole
    bool names_diff;      // the kernel says names of slangpy_diff
    uint8_t *sizes;    // types were chosen by so many trailing sizes of each value; NULL: by none
} spyi_bound;

// Choose the overload and match everything. On failure a text with the candidates and why each does not fit.
SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error);
// Match one value to a shader parameter of `type`, which takes it once and not by element. `bound` gets leaves and nodes.
SPYI_FN spy_status spyi_bind_input(spy_function *function, const spyi_values *values, uint32_t index,
                                   const spyi_type *type, const char *path, spyi_bound *bound,
                                   spyi_text *error);
SPYI_FN void spyi_bound_free(spyi_bound *bound);
// The binding table: parameter, Slang type, argument, mapping; one line each.
SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out);

#endif // SPYI_BIND_H
