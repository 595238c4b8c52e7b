// The state of one emission, and the functions by which the files of src/emit write parts of the kernel's
// text.
#ifndef SPYI_EMIT_INTERNAL_H
#define SPYI_EMIT_INTERNAL_H

#include "data/texture_form.h"
#include "data/scalars.h"
#include "emit/emit.h"

typedef struct spyi_emit_state spyi_emit_state;

// How a kernel is made up
//
// A kernel is three things, one inside the other: the element function, a wrapper that calls it, and a
// prologue.
//
// The *element function* (element.c) is one Slang function, spyi_element, which computes one element of the
// call. Its parameters are the call's leaves and its body is a graph of calls (graph.h). It is the same
// whatever stage the kernel belongs to.
//
// A *wrapper* writes the code for one element: the arguments of the element function, the call, and the
// stores of its outputs. It calls the element function directly (forward.c), or through bwd_diff or fwd_diff
// (gradient.c).
//
// A *prologue* finds the elements that one run of the kernel (a thread, a pixel, a ray) works on. No other
// part knows where the elements come from. compute.c has the prologue of compute kernels, tile.c that of kernels
// that go tile by tile, team.c that of kernels that sum gradients. Another stage would be another file with
// another spyi_prologue. Prologue and wrapper meet in these points:
// - The prologue's body() writes the statements of the entry point into s->body. For each element it sets
//   s->element and s->suffix, so that variables of different elements have different names, and calls the
//   wrapper's arguments() and then spyi_emit_call(). Where all loads should be under way together, it calls
//   arguments() for all elements before the first call. A guard round spyi_emit_call() (for a tail or a last
//   row) is written by the prologue.
// - Before arguments(), body() declares the variables that its own number() and index() name, and loads what
//   all its elements share: the leaves for which spyi_is_hoisted() is true (spyi_load_hoisted()) and those
//   for which spyi_is_wide() is true (wide.c).
// - number() writes the number of the current element in the call, and index() writes where the current
//   element lies in a leaf's memory. The loads and stores of one leaf (leaf.c) use only these two and name no
//   thread. wide.c belongs to the compute prologue.
// - The element function gives nothing to the prologue: it takes its arguments and hands its outputs back to
//   the wrapper.
typedef struct spyi_prologue {
    // Returns the kernel's form, such as "wide", for the comment at the kernel's start.
    const char *(*name)(const spyi_emit_state *s);
    // Writes the entry point's attributes, its name, and the parameters that the system fills. The parameter
    // list stays open.
    void (*head)(const spyi_emit_state *s, spyi_text *out);
    // Declares the fields of the parameter block that the prologue itself needs.
    void (*fields)(spyi_emit_state *s);
    // Writes the statements of the entry point.
    void (*body)(spyi_emit_state *s);
    // Writes the number of the current element in the call, as an expression of type int.
    void (*number)(const spyi_emit_state *s, spyi_text *out);
    // Writes the current element's index in the memory of a leaf, counted from the leaf's base. Writes
    // nothing if all elements have index 0. For wide leaves it is the index of access number `access`. With
    // `store` the element is written there, so that the index must not be another element's.
    void (*index)(const spyi_emit_state *s, uint32_t leaf, uint32_t access, bool store, spyi_text *out);
} spyi_prologue;

typedef struct spyi_wrapper {
    // Writes the element function's arguments for the current element; declares and loads the variables that
    // they name.
    void (*arguments)(spyi_emit_state *s, spyi_text *arguments);
    // Writes the call with these arguments, and the stores of its outputs.
    void (*call)(spyi_emit_state *s, const char *arguments, const char *indent);
} spyi_wrapper;

struct spyi_emit_state {
    const spyi_prologue *prologue;
    const spyi_wrapper *wrapper;
    const spyi_bound *bound;
    const spyi_profile *profile;
    const spyi_limits *limits; // the limits of the function's device
    const spyi_rules *rules;   // the rules of the profile's target
    const spyi_variant_key *key;
    spyi_types *types;
    spyi_emitted *out;
    spyi_text fields;  // the text of the fields of the parameter block's struct
    spyi_text buffers; // the text of the entry point's parameters (structured buffers)
    spyi_text holders; // the text of globals (ConstantBuffers)
    spyi_text body;
    char **names;   // the name of each leaf in block and buffers, which is its path with dots replaced
    char **lvalues; // the variable of each leaf for the current element; NULL means none so far
    bool *fresh;    // tells for each leaf whether its load declares its variable
    uint32_t pack_capacity;
    size_t block_align; // the largest alignment of a field in bytes
    uint32_t element;   // the index of the current element among the thread's elements, or of a team's
                        // element in its unit
    char suffix[8];     // ends the names of the element's variables: "", or "_0", "_1", ... if a thread has
                        // several elements
    char unit
        [8]; // ends the names of variables that the elements of a unit share (team.c): "", or "_0", "_1", ...
    bool tail;           // in kernels with teams: the element is read by itself, not out of a vector
    uint32_t max_groups; // the largest number of groups in a row of folded groups
    bool failed;         // memory ran out
};

// >>walk.c
SPYI_FN uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_skipped(const spyi_emit_state *s, uint32_t leaf); // returns whether the leaf's memory is
                                                                       // untouched
SPYI_FN bool spyi_is_summed(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf); // returns whether the leaf is loaded as
                                                                    // vectors
SPYI_FN bool spyi_is_turned(const spyi_emit_state *s,
                            uint32_t leaf); // returns whether the leaf goes through groupshared memory
// Returns whether one value of the leaf serves all elements of a thread, and is loaded once.
SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_has_tail(const spyi_emit_state *s); // returns whether the last thread may have fewer
                                                      // elements
// Returns the end of the names of the current element's coordinates and offsets: s->suffix if each element
// has its own, s->unit if those of a unit share them, or "".
SPYI_FN const char *spyi_own_suffix(const spyi_emit_state *s);
// Returns whether threads behind the last element compute the last element once more
// (spyi_bound.whole_warps). Their spy_inside is false.
SPYI_FN bool spyi_fills_warps(const spyi_emit_state *s);
SPYI_FN bool spyi_needs_coordinates(const spyi_emit_state *s); // returns whether the kernel has coordinates
// Returns whether the leaf's stride along the collapsed dimension is a field of the block.
SPYI_FN bool spyi_has_stride(const spyi_emit_state *s, uint32_t leaf, uint32_t dim);
// Returns whether the leaf's indices start at a base, which is a field of the block.
SPYI_FN bool spyi_has_base(const spyi_emit_state *s, uint32_t leaf);
// Returns the type in which the leaf's memory is declared: one element of its walk.
SPYI_FN const spyi_type *spyi_memory_type(const spyi_emit_state *s, uint32_t leaf);
// These functions are about targets that load vectors of three or four 64-bit scalars one scalar at a time.
// They return whether the type is such a vector, whether the leaf is loaded in this way, and whether its
// field of the block is read so.
SPYI_FN bool spyi_is_long_vector(const spyi_emit_state *s, const spyi_type *type);
SPYI_FN bool spyi_is_split(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_split_field(const spyi_emit_state *s, uint32_t leaf);
// spyi_vectors() returns the number of vectors that hold a thread's elements of a wide leaf; spyi_packed()
// returns the number of vectors that one access moves.
SPYI_FN uint32_t spyi_vectors(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN uint32_t spyi_packed(const spyi_emit_state *s, uint32_t leaf);
// Returns the 32-bit words that one access moves, or 0 if it moves vectors of scalars.
SPYI_FN uint32_t spyi_words(const spyi_emit_state *s, uint32_t leaf);
// Returns whether a wide leaf has a second structured buffer, "t_x", of its single scalars.
SPYI_FN bool spyi_has_scalars(const spyi_emit_state *s, uint32_t leaf);

// >>block.c
SPYI_FN void spyi_make_names(spyi_emit_state *s);
SPYI_FN void spyi_declare_block(spyi_emit_state *s);
SPYI_FN void spyi_declare_shape(spyi_emit_state *s); // declares the sizes of the call's dimensions
// Adds a field of three uint32, packed by `op` with dims 0 to 2 (x, y and z).
SPYI_FN void spyi_add_numbers(spyi_emit_state *s, spyi_pack_op op, const char *name);
// Adds a field to the block, and the operation that packs it. size and align are in bytes; `format` is the
// declaration.
SPYI_FN void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                            size_t align, const char *format, ...) SPYI_PRINTF(7, 8);

// >>leaf.c
SPYI_FN void spyi_spell_memory(const spyi_emit_state *s, const spyi_type *type, spyi_text *out);
// Writes `expression`, of memory type `from`, as a value of type `to`.
SPYI_FN void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression,
                             spyi_text *out);
// Writes `expression`, whose scalars have type `from`, as it is stored in memory type `to`.
SPYI_FN void spyi_spell_store(const spyi_emit_state *s, spy_dtype from, const spyi_type *to,
                              const char *expression, spyi_text *out);
// Returns the type of a leaf's scalars, as the function sees them.
SPYI_FN spy_dtype spyi_leaf_dtype(const spyi_leaf *leaf);
// Writes where component `inner` of the current element lies: "b_x[spy_i]". `store` means the same as in
// spyi_prologue.index.
SPYI_FN void spyi_place(const spyi_emit_state *s, uint32_t leaf, uint32_t access, const char *inner,
                        bool store, spyi_text *out);
// Writes the leaf's value for the current element as an expression; false means that the leaf needs a
// variable.
SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Writes the leaf's value for the current element: the expression, or the name of a variable that is declared
// and loaded here.
SPYI_FN void spyi_value_expression(spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Gives the leaf's variable for the current element its name, "a_x_1". Loads and stores use that name.
SPYI_FN void spyi_name_variable(spyi_emit_state *s, uint32_t leaf, const char *prefix);
// Names the leaf's variable and writes its declaration. With `loads` it also writes its load.
SPYI_FN void spyi_make_variable(spyi_emit_state *s, uint32_t leaf, const char *prefix, bool loads,
                                const char *indent);
// Writes the load of a leaf for which spyi_is_hoisted() is true.
SPYI_FN void spyi_load_hoisted(spyi_emit_state *s, uint32_t leaf);
// spyi_emit_leaf_load() writes the load of the leaf's variable, and spyi_emit_leaf_store() its store.
SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t leaf, const char *indent);
SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t leaf, const char *indent);

// >>wide.c
SPYI_FN void spyi_spell_vector(const spyi_emit_state *s, uint32_t leaf, spyi_text *out); // writes "float4"
// spyi_wide_value() writes the current element's value of a wide leaf as an expression of its vectors;
// spyi_wide_store() puts its variable back into them.
SPYI_FN void spyi_wide_value(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
SPYI_FN void spyi_wide_store(spyi_emit_state *s, uint32_t leaf, const char *indent);
// Write the loads of a leaf's vectors (an output's are only declared), and the stores of all leaves' vectors.
SPYI_FN void spyi_load_vectors(spyi_emit_state *s, uint32_t leaf);
SPYI_FN void spyi_store_vectors(spyi_emit_state *s);
SPYI_FN void spyi_spell_words(uint32_t words, spyi_text *out); // writes "uint4"
// Writes component `component` of the current element in the vectors of a wide leaf: "w_x__1.z".
SPYI_FN void spyi_component(const spyi_emit_state *s, uint32_t leaf, uint32_t component, spyi_text *out);
// Writes the store of access number `access` of a wide leaf.
SPYI_FN void spyi_store_access(spyi_emit_state *s, uint32_t leaf, uint32_t access, const char *indent);

// >>compute.c
SPYI_FN const spyi_prologue *spyi_compute_prologue(void);
// team.c's prologue has these four functions as its own, and calls those that follow them.
SPYI_FN const char *spyi_compute_name(const spyi_emit_state *s);
SPYI_FN void spyi_compute_head(const spyi_emit_state *s, spyi_text *out);
SPYI_FN void spyi_compute_number(const spyi_emit_state *s, spyi_text *out);
SPYI_FN void spyi_compute_index(const spyi_emit_state *s, uint32_t leaf, uint32_t access, bool store,
                                spyi_text *out);
SPYI_FN void spyi_declare_sizes(spyi_emit_state *s); // declares the sizes that coordinates need
// Write the coordinates of element spy_i, and from them the offsets of strided leaves. `summed` is for teams:
// true writes the offsets of summed leaves, false those of the other leaves.
SPYI_FN void spyi_emit_coordinates(spyi_emit_state *s);
SPYI_FN void spyi_emit_offsets(spyi_emit_state *s, bool summed);
SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s); // loads hoisted leaves and vectors

// >>element.c
// Writes the element function.
SPYI_FN void spyi_emit_element(const spyi_emit_state *s, const spyi_graph *graph, spyi_text *out);
// Returns whether the leaf is an output that nobody uses.
SPYI_FN bool spyi_is_dropped(const spyi_leaf *leaf);
// Returns whether the leaf takes part in the derivative.
SPYI_FN bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf);
// Returns whether the element function hands the leaf back. Other outputs are variables inside the function.
SPYI_FN bool spyi_comes_back(const spyi_bound *b, const spyi_leaf *leaf);
// Returns the leaf that the element function returns; NULL means that it returns nothing, and its outputs are
// parameters.
SPYI_FN const spyi_leaf *spyi_returned_leaf(const spyi_bound *b);
// Returns whether the leaf is a parameter of the element function.
SPYI_FN bool spyi_is_parameter(const spyi_bound *b, const spyi_leaf *leaf);

// >>forward.c
SPYI_FN const spyi_wrapper *spyi_forward(void);
// Writes one element's call. Prologues use it: it tells the module the element's number, then calls the
// wrapper's call().
SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *arguments, const char *indent);
// Writes what stands before an element's stores: nothing, or "if (spy_inside) {". Returns the stores' indent; if it is not
// `indent` itself, a "}" follows the stores.
SPYI_FN const char *spyi_open_stores(spyi_emit_state *s, const char *indent);

// >>gradient.c
SPYI_FN const spyi_wrapper *spyi_derivative(void);

// >>pieces.c
typedef enum spyi_piece_op {
    SPYI_PIECE_ADD,   // to = to + from
    SPYI_PIECE_COPY,  // to = from
    SPYI_PIECE_SUM,   // sum = sum + from
    SPYI_PIECE_APPLY, // to = to + sum
    SPYI_PIECE_ATOMIC // the same as SPYI_PIECE_APPLY, atomically
} spyi_piece_op;

// Writes statements that do `op` to each piece of a value. `to` and `from` are expressions of the whole
// value; their types differ in scalars alone. `sum_of` is the leaf whose sum is used.
SPYI_FN void spyi_emit_pieces(spyi_emit_state *s, spyi_piece_op op, uint32_t sum_of, const spyi_type *to_type,
                              const char *to, const spyi_type *from_type, const char *from,
                              const char *indent);
SPYI_FN bool spyi_sum_is_long(const spyi_type *type); // returns whether the sum is too long to unroll
// Returns whether the loops that write the leaf's sum out begin at spy_from instead of 0.
SPYI_FN bool spyi_ends_in_loops(const spyi_emit_state *s, uint32_t leaf);

// >>batch.c
SPYI_FN const spyi_prologue *spyi_batch_prologue(void);
SPYI_FN void spyi_batch_size(spyi_emit_state *s); // sets the group's threads and shared memory

// >>rooms.c: groups that sum the gradients of networks in shared memory
SPYI_FN void spyi_rooms_size(spyi_emit_state *s); // sets the group's shared memory
// Write what stands before and behind the statements for a thread's element: between them is a loop over its elements.
SPYI_FN void spyi_open_rooms(spyi_emit_state *s);
SPYI_FN void spyi_close_rooms(spyi_emit_state *s);

// >>team.c
SPYI_FN const spyi_prologue *spyi_sums_prologue(void);
// Returns the function that puts two values of a reduction together; NULL means that they are added.
SPYI_FN const char *spyi_combine_name(const spyi_bound *b);

// >>tile.c
SPYI_FN const spyi_prologue *spyi_tiles_prologue(void);
// For turned leaves: write the current element's value as an expression, and the store of its variable, both in
// groupshared memory.
SPYI_FN void spyi_turned_value(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
SPYI_FN void spyi_turned_store(spyi_emit_state *s, uint32_t leaf, const char *indent);

#endif // SPYI_EMIT_INTERNAL_H
