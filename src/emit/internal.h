// What the files of this room share: the state of one emission, and what each file writes of the kernel's text.
#ifndef SPYI_EMIT_INTERNAL_H
#define SPYI_EMIT_INTERNAL_H

#include "data/type_name.h"
#include "data/scalars.h"
#include "emit/emit.h"

typedef struct spyi_emit_state spyi_emit_state;

// How a kernel is made up
//
// A kernel is three things, one inside the other: the element function, a wrapper that calls it, and a prologue.
//
// The *element function* (element.c) is one Slang function, spyi_element, which computes one element of the call. Its parameters
// are the call's leaves and its body is a graph of calls (graph.h). It is the same whatever stage the kernel belongs to.
//
// A *wrapper* says what stands in the kernel for one element: the arguments of the element function, the call, and the stores of
// what comes back. It calls the function as it is (forward.c), or through bwd_diff or fwd_diff (gradient.c).
//
// A *prologue* finds the elements that one run of the kernel (a thread, a pixel, a ray) works on. It is the only one that
// knows where they come from; compute.c has that of compute kernels, team.c that of kernels that sum gradients. Another stage is
// another file with another table. The contact between them is this:
// - The prologue's body() writes the statements of the entry point into s->body. For each element it sets s->element and
//   s->suffix, so that variables of different elements have different names, and calls the wrapper's arguments() and then
//   spyi_emit_call(). It calls arguments() for all elements before the first call where it wants the loads under way together. A
//   guard round spyi_emit_call() (a tail, a last row) is the prologue's.
// - Before arguments() it has declared what its own number() and index() name, and has loaded what all its elements share: the
//   leaves for which spyi_is_hoisted() is true (spyi_load_hoisted()) and those for which spyi_is_wide() is true (wide.c).
// - number() gives the number of the current element in the call, and index() where the current element lies in a leaf's memory.
//   The loads and stores of one leaf (leaf.c) are made of these two and name no thread. wide.c belongs to the compute prologue.
// - The element function gives nothing to the prologue: it takes its arguments and hands its outputs back to the wrapper.
typedef struct spyi_prologue {
    // The kernel's form, for the comment that it begins with: "wide".
    const char *(*name)(const spyi_emit_state *s);
    // The entry point's attributes, its name, and those of its parameters that the system fills; the list stays open.
    void (*head)(const spyi_emit_state *s, spyi_text *out);
    // Declares the fields of the parameter block that the prologue itself needs.
    void (*fields)(spyi_emit_state *s);
    // Writes the statements of the entry point.
    void (*body)(spyi_emit_state *s);
    // The number of the current element in the call, as an expression of type int.
    void (*number)(const spyi_emit_state *s, spyi_text *out);
    // The current element's index in the memory of a leaf, behind the leaf's base; no text where all elements have the first
    // one. Wide leaves: of access number `access`. `store`: it is written there, so it must not be another element's.
    void (*index)(const spyi_emit_state *s, uint32_t leaf, uint32_t access, bool store, spyi_text *out);
} spyi_prologue;

typedef struct spyi_wrapper {
    // The element function's arguments for the current element; declares and loads the variables that they need.
    void (*arguments)(spyi_emit_state *s, spyi_text *arguments);
    // The call with these arguments, and the stores of its outputs.
    void (*call)(spyi_emit_state *s, const char *arguments, const char *indent);
} spyi_wrapper;

struct spyi_emit_state {
    const spyi_prologue *prologue;
    const spyi_wrapper *wrapper;
    const spyi_bound *bound;
    const spyi_profile *profile;
    const spyi_rules *rules; // of its target
    const spyi_variant_key *key;
    spyi_types *types;
    spyi_emitted *out;
    spyi_text fields;  // of the parameter block's struct
    spyi_text buffers; // entry-point parameters
    spyi_text holders; // globals
    spyi_text body;
    char **names;   // of each leaf in block and buffers: its path with dots replaced
    char **lvalues; // of each leaf in the kernel: its variable for the current element; NULL: it has had none
    bool *fresh;    // the leaf's variable is declared where it is loaded
    uint32_t pack_capacity;
    size_t block_align;  // largest alignment of a field
    uint32_t element;    // which of the thread's elements is being written
    char suffix[8];      // of its variables: "", or "_0", "_1", ... when there are several
    uint32_t max_groups; // in a row of folded ones
    bool failed;         // out of memory
};

// >>walk.c
SPYI_FN uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_skipped(const spyi_emit_state *s, uint32_t leaf); // its memory is not touched
SPYI_FN bool spyi_is_summed(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf); // loaded as vectors
// Whether it has one value for all of a thread's elements.
SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_has_tail(const spyi_emit_state *s); // wide: the last vector may be partly valid
// Of the names of the current element's coordinates and places.
SPYI_FN const char *spyi_own_suffix(const spyi_emit_state *s);
SPYI_FN bool spyi_needs_coordinates(const spyi_emit_state *s); // some leaf is neither uniform nor linear
SPYI_FN bool spyi_has_base(const spyi_emit_state *s,
                           uint32_t leaf); // its indices begin at a number of their own
// The type in which a leaf's memory is declared, per element of its walk.
SPYI_FN const spyi_type *spyi_memory_type(const spyi_emit_state *s, uint32_t leaf);
// Vectors of 3 and 4 64-bit scalars, where the target wants them scalar by scalar; a leaf that is loaded so.
SPYI_FN bool spyi_is_long_vector(const spyi_emit_state *s, const spyi_type *type);
SPYI_FN bool spyi_is_split(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN bool spyi_is_split_field(const spyi_emit_state *s, uint32_t leaf); // ... in the parameter block
// Wide leaves: the vectors that hold the thread's elements, and how many of them one access moves.
SPYI_FN uint32_t spyi_vectors(const spyi_emit_state *s, uint32_t leaf);
SPYI_FN uint32_t spyi_packed(const spyi_emit_state *s, uint32_t leaf);

// >>block.c
SPYI_FN void spyi_make_names(spyi_emit_state *s);
SPYI_FN void spyi_declare_block(spyi_emit_state *s);
SPYI_FN void spyi_declare_shape(spyi_emit_state *s); // the call's own sizes
// Three numbers, in x, y and z.
SPYI_FN void spyi_add_numbers(spyi_emit_state *s, spyi_pack_op op, const char *name);
// A field of the block: its text, its place, and the step that fills it.
SPYI_FN void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                            size_t align, const char *format, ...) SPYI_PRINTF(7, 8);

// >>leaf.c
SPYI_FN void spyi_spell_memory(const spyi_emit_state *s, const spyi_type *type, spyi_text *out);
// `expression` of memory type `from` as a value of type `to`.
SPYI_FN void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression,
                             spyi_text *out);
// A value of a type with scalars of `from` as it is stored in memory type `to`.
SPYI_FN void spyi_spell_store(const spyi_emit_state *s, spy_dtype from, const spyi_type *to,
                              const char *expression, spyi_text *out);
// The type of a leaf's scalars, as the function has them.
SPYI_FN spy_dtype spyi_leaf_dtype(const spyi_leaf *leaf);
// Where component `inner` of the current element lies, as for a store: "b_x[spy_i]".
SPYI_FN void spyi_place(const spyi_emit_state *s, uint32_t leaf, uint32_t access, const char *inner,
                        bool store, spyi_text *out);
// The leaf's value for the current element as an expression, if it needs no variable; false: it does.
SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// ... or else the name of its variable, which is declared and filled.
SPYI_FN void spyi_value_expression(spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Names the leaf's variable for the current element, "a_x_1", as what loads and stores mean.
SPYI_FN void spyi_name_variable(spyi_emit_state *s, uint32_t leaf, const char *prefix);
// ... and declares it; `loads`: and fills it.
SPYI_FN void spyi_make_variable(spyi_emit_state *s, uint32_t leaf, const char *prefix, bool loads,
                                const char *indent);
// Loads a leaf that has one value for all of a run's elements.
SPYI_FN void spyi_load_hoisted(spyi_emit_state *s, uint32_t leaf);
// Fills the leaf's variable, or writes it back.
SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t leaf, const char *indent);
SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t leaf, const char *indent);

// >>wide.c
SPYI_FN void spyi_spell_vector(const spyi_emit_state *s, uint32_t leaf, spyi_text *out); // "float4"
// The current element's value in the vectors of a wide leaf, and its variable back into them.
SPYI_FN void spyi_wide_value(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
SPYI_FN void spyi_wide_store(spyi_emit_state *s, uint32_t leaf, const char *indent);
// Loads the leaf's vectors, or declares them; stores those of all leaves.
SPYI_FN void spyi_load_vectors(spyi_emit_state *s, uint32_t leaf);
SPYI_FN void spyi_store_vectors(spyi_emit_state *s);

// >>compute.c
SPYI_FN const spyi_prologue *spyi_compute_prologue(void);
// What the prologue of sums shares with it: its name, head, number and index, and
SPYI_FN const char *spyi_compute_name(const spyi_emit_state *s);
SPYI_FN void spyi_compute_head(const spyi_emit_state *s, spyi_text *out);
SPYI_FN void spyi_compute_number(const spyi_emit_state *s, spyi_text *out);
SPYI_FN void spyi_compute_index(const spyi_emit_state *s, uint32_t leaf, uint32_t access, bool store,
                                spyi_text *out);
SPYI_FN void spyi_declare_sizes(spyi_emit_state *s); // fields of the block: what coordinates are made of
// Coordinates of element spy_i, and from them the places of the leaves that need them. `summed`: only of sums.
SPYI_FN void spyi_emit_coordinates(spyi_emit_state *s);
SPYI_FN void spyi_emit_offsets(spyi_emit_state *s, bool summed);
SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s); // once a thread: hoisted values, and vectors in

// >>element.c
// The element function.
SPYI_FN void spyi_emit_element(const spyi_emit_state *s, const spyi_graph *graph, spyi_text *out);
// Of a leaf: an output that nobody wants to know about.
SPYI_FN bool spyi_is_dropped(const spyi_leaf *leaf);
// Whether it takes part in the derivative.
SPYI_FN bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf);
// Whether the element function hands it back; other outputs are variables within.
SPYI_FN bool spyi_comes_back(const spyi_bound *b, const spyi_leaf *leaf);
// The result that the element function returns; NULL: none, its outputs are parameters.
SPYI_FN const spyi_leaf *spyi_returned_leaf(const spyi_bound *b);
// Whether it is a parameter of the element function.
SPYI_FN bool spyi_is_parameter(const spyi_bound *b, const spyi_leaf *leaf);

// >>forward.c
SPYI_FN const spyi_wrapper *spyi_forward(void);
// What each prologue calls for each of its elements: the wrapper's call, after telling the module which element it is.
SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *arguments, const char *indent);

// >>gradient.c
SPYI_FN const spyi_wrapper *spyi_derivative(void);

// >>pieces.c
typedef enum spyi_piece_op {
    SPYI_PIECE_ADD,   // to = to + from
    SPYI_PIECE_COPY,  // to = from
    SPYI_PIECE_SUM,   // the sum += from
    SPYI_PIECE_APPLY, // to = to + the sum
    SPYI_PIECE_ATOMIC // likewise, atomically
} spyi_piece_op;

// Statements that do `op` with each piece of a value. `to` and `from` are expressions of the value, of types that differ in
// scalars alone; `sum_of` is the leaf whose sum it is.
SPYI_FN void spyi_emit_pieces(spyi_emit_state *s, spyi_piece_op op, uint32_t sum_of, const spyi_type *to_type,
                              const char *to, const spyi_type *from_type, const char *from,
                              const char *indent);
SPYI_FN bool spyi_sum_is_long(const spyi_type *type); // it is not unrolled
// Whether the loops that write a sum out begin at spy_from.
SPYI_FN bool spyi_ends_in_loops(const spyi_emit_state *s, uint32_t leaf);

// >>team.c
SPYI_FN const spyi_prologue *spyi_sums_prologue(void);

#endif // SPYI_EMIT_INTERNAL_H
