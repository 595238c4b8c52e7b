// What the files of this room share: the state of one emission, and what each file writes of the kernel's text.
#ifndef SPYI_EMIT_INTERNAL_H
#define SPYI_EMIT_INTERNAL_H

#include "data/type_name.h"
#include "data/scalars.h"
#include "emit/emit.h"

typedef struct spyi_emit_state {
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
    char **lvalues; // of each leaf in the kernel; NULL: used where it lies
    bool *fresh;    // the leaf's variable is declared where it is loaded
    uint32_t pack_capacity;
    size_t block_align;  // largest alignment of a field
    uint32_t element;    // which of the thread's elements is being written
    char suffix[8];      // of its variables: "", or "_0", "_1", ... when there are several
    uint32_t max_groups; // in a row of folded ones
    bool failed;         // out of memory
} spyi_emit_state;

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
// A field of the block: its text, its place, and the step that fills it.
SPYI_FN void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                            size_t align, const char *format, ...) SPYI_PRINTF(7, 8);

// >>leaf.c
SPYI_FN void spyi_spell_memory(const spyi_emit_state *s, const spyi_type *type, spyi_text *out);
SPYI_FN void spyi_spell_vector(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Where component `inner` of the current element lies, as for a store: "b_x[spy_i]".
SPYI_FN void spyi_place(const spyi_emit_state *s, uint32_t leaf, uint32_t vector, const char *inner,
                        bool store, spyi_text *out);
// Text that happens once a thread: hoisted values, vectors in, and vectors out.
SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s);
SPYI_FN void spyi_emit_thread_stores(spyi_emit_state *s);
// The leaf's value for the current element as an expression, if it needs no variable; false: it does.
SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t leaf, spyi_text *out);
// Fills the leaf's variable, or writes it back.
SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t leaf, const char *indent);
SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t leaf, const char *indent);

// >>prologue.c
// The kernel's attributes, its name, and its parameters so far: those that the system gives.
SPYI_FN void spyi_emit_entry_head(const spyi_emit_state *s, spyi_text *out);
// A thread's elements: their numbers, the guard, their coordinates and places.
SPYI_FN void spyi_emit_prologue(spyi_emit_state *s);
SPYI_FN void spyi_element_text(const spyi_emit_state *s, spyi_text *out); // the current element's number
// Coordinates of element spy_i, and from them the places of the leaves that need them. `summed`: only of sums.
SPYI_FN void spyi_emit_coordinates(spyi_emit_state *s);
SPYI_FN void spyi_emit_offsets(spyi_emit_state *s, bool summed);

// >>element.c
// The arguments of the call for the current element, and the variables that they need.
SPYI_FN void spyi_emit_arguments(spyi_emit_state *s, spyi_text *arguments);
// The call for the current element, and its stores.
SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *function, const char *arguments,
                            const char *indent);

// >>gradient.c
SPYI_FN void spyi_emit_differentiable(spyi_emit_state *s, const char *function,
                                      spyi_text *out); // the element function
SPYI_FN void spyi_emit_gradient_arguments(spyi_emit_state *s, spyi_text *arguments);
SPYI_FN void spyi_emit_gradient_call(spyi_emit_state *s, const char *arguments, const char *indent);
// The leaf's variable, "a_x_1"; `loads`: filled here.
SPYI_FN void spyi_make_variable(spyi_emit_state *s, uint32_t leaf, const char *prefix, bool loads,
                                const char *indent);

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
SPYI_FN void spyi_declare_sums(spyi_emit_state *s); // fields of the block
SPYI_FN void spyi_emit_team_body(spyi_emit_state *s);

#endif // SPYI_EMIT_INTERNAL_H
