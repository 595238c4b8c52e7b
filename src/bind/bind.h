// Binding matches a call's values to the parameters of one overload and makes leaves of them.
#ifndef SPYI_BIND_H
#define SPYI_BIND_H

#include "bind/options.h"

// One parameter or field in the kernel's call of the function. Its value is a leaf, or is built from fields.
typedef struct spyi_node {
    char *name;
    const spyi_type *type;
    int32_t leaf;          // the index of its leaf; -1 means that it is built from fields
    uint32_t first, count; // its fields: a range of the node list
    bool in, out;
} spyi_node;

// How a kernel combines the gradients of elements that share one. Only a reduction combines them otherwise
// than by their sum.
typedef enum spyi_combine {
    SPYI_COMBINE_SUM,
    // The combination of a reduction's elements. The kernel calls the reduction's own function for it, and no
    // derivative.
    SPYI_COMBINE_MIN,
    SPYI_COMBINE_MAX,
    SPYI_COMBINE_TOTAL // adds the values, like SPYI_COMBINE_SUM
} spyi_combine;

// The parameters of a run of the batch engine (slang/mlp_batch_engine.slang) for a call that is nothing but a
// network.
typedef struct spyi_batch {
    uint32_t network, inputs, outputs; // the numbers of leaves: the network's parameters, rows of inputs,
        // rows of outputs, which in a backward call are the gradients of outputs
    int32_t inputs_gradient; // the leaf that the gradients of the inputs are added to; -1: none is asked for
    bool one_gradient;       // the gradients of outputs are one row in the kernel's block
    bool wgmma;              // the engine is wgmma; otherwise mma.sync
    uint32_t threads, shared_bytes; // threads and shared memory of a group
    uint32_t rows;                  // the rows that a group takes at a time
    uint32_t resident;              // groups that one multiprocessor runs at the same time
    uint32_t shape, options;        // arguments of spyi_mlp_forward() or spyi_mlp_gradient()
    // Backward calls have a second dispatch, which adds partial sums to the gradients of the parameters. A group
    // of the first leaves `sums` of them, in `sums_bytes` bytes.
    uint32_t sums, sums_bytes, add_options; // add_options: an argument of spyi_mlp_add_gradient()
} spyi_batch;

// One call bound to one overload. A plan keeps it.
typedef struct spyi_bound {
    spyi_signature signature; // signature of the chosen overload, with concrete types
    spyi_leaf *leaves;
    uint32_t leaf_count;
    spyi_node *nodes; // parameters that get an argument, then "_result" if given, then fields
    uint32_t node_count;
    uint32_t param_count; // parameters that get an argument
    bool has_result;      // nodes[param_count] is "_result"
    uint32_t rank;        // the dimensions of the kernel
    bool strict;          // strict_broadcasting of the module
    spyi_options options;
    bool uses_library;  // expressions of some leaf need `import slangpy_kernel` and the call's shape
    bool names_library; // the kernel needs `import slangpy`, for tensor types or for call_info
    bool dispatch;      // the caller gives the number of threads; arguments are passed whole
    bool guarded;       // spyi_threads.guarded of a dispatch
    bool shader;        // spyi_threads.shader of a dispatch
    uint8_t stage;      // spyi_threads.stage of a dispatch
    bool call_info;     // the module imports slangpy, so it may ask which element of the call it computes
    spy_call_mode mode;
    // [0]: the function itself reads gradients of tensors that are passed whole. [1]: it adds to them or
    // writes them.
    bool grads_inside[2];
    uint8_t combine; // a spyi_combine: how the gradients of elements that share one are combined
    bool names_diff; // the kernel needs `import slangpy_diff`
    // Threads behind the last element compute it once more and store nothing, so that the code of networks
    // runs in full warps.
    bool whole_warps;
    bool is_batch;       // the function is nothing but a network that the batch engine takes
    spyi_batch batch;    // with is_batch: how the engine runs the call
    bool notes_textures; // the kernel tells slangpy_texture_plain of its textures and sampler
    // The number of the leaf, plus 1, of a texture of Slang's own type whose gradient the call adds to; 0 if
    // there is none.
    uint32_t plain_gradient;
    uint8_t *sizes; // types depend on the last sizes[i] dimensions of value i; NULL means that types depend
                    // on no sizes
} spyi_bound;

// Chooses the overload and binds the values to it. On failure `error` lists the candidates and why each does
// not fit.
SPYI_FN spy_status spyi_bind(spy_function *function, const spyi_values *values, spyi_bound *bound,
                             spyi_text *error);
SPYI_FN void spyi_bound_free(spyi_bound *bound);
// Returns whether a value of the type may be all zeros: numbers and pointers may, buffers may not.
SPYI_FN bool spyi_may_be_zero(const spyi_type *type);
// How a call with networks of `import mlp;` runs.
typedef enum spyi_batch_way {
    SPYI_BATCH_NONE,
    SPYI_BATCH_ENGINE, // the batch engine runs the call: spyi_bound.is_batch
    SPYI_BATCH_ROOMS // groups go through all elements in turn and sum gradients in shared memory: spyi_rooms_of()
} spyi_batch_way;

// Networks whose gradients the groups of a backward call sum in their shared memory (slang/mlp_matrix.slang: rooms).
enum { SPYI_MOST_ROOMS = 7 };
typedef struct spyi_rooms {
    uint32_t count;
    uint32_t words;    // of a group's shared memory
    uint32_t resident; // groups of a multiprocessor
    struct {
        uint32_t leaf;  // the network's parameters
        uint32_t first; // the room's first word
        const spyi_type *network;
    } items[SPYI_MOST_ROOMS];
} spyi_rooms;

// Fills *rooms for a call of the device. Returns false if there are none, as in a forward call.
SPYI_FN bool spyi_rooms_of(const spyi_bound *bound, const spyi_limits *limits, spyi_rooms *rooms);
// Sets bound->whole_warps, bound->is_batch and bound->batch.
SPYI_FN void spyi_find_networks(spy_function *function, spyi_bound *bound);
// Fills bound->batch for a call that is nothing but a network. Returns false if the engine does not take the network.
SPYI_FN bool spyi_find_batch(const spyi_limits *limits, spyi_bound *bound);
// Writes a line for each network of `import mlp;`: how it is computed, and why not otherwise. `batch`: the
// variant's key.batch. `single`: by a single thread.
SPYI_FN void spyi_networks_text(const spyi_bound *bound, const spyi_limits *limits, int batch, bool single,
                                spyi_text *out);
// Writes a table with one line for each leaf: parameter, direction, Slang type, argument, mapping.
SPYI_FN void spyi_bound_text(const spyi_bound *bound, const spyi_values *values, spyi_text *out);

#endif // SPYI_BIND_H
