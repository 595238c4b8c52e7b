// Emission: writes the text of one kernel variant of a bound call, and the program that packs its parameter
// block.
#ifndef SPYI_EMIT_H
#define SPYI_EMIT_H

#include "emit/graph.h"
#include "kinds/kind.h"

#define SPYI_MOST_MEMORY_LEAVES 64

// How a kernel walks a leaf's memory. It follows from the leaf's strides over the collapsed dimensions.
typedef enum spyi_walk_kind {
    SPYI_WALK_UNIFORM, // all strides are 0: the value is loaded once a thread
    SPYI_WALK_LINEAR,  // element i of the call is element i of the leaf
    SPYI_WALK_INNER,   // in wide variants: the innermost stride is 1, the others are any
    SPYI_WALK_STILL,   // in wide variants: the innermost stride is 0, the others are any
    SPYI_WALK_STRIDED, // any strides
    SPYI_WALK_TURNED // in tiled variants: the stride is 1 along dimension key.turn, and the leaf goes through
                     // groupshared memory
} spyi_walk_kind;

#define SPYI_WALK_MASK 7u
#define SPYI_WALK_GATHER 8u    // the consumed dimensions are not packed: components are loaded one by one
#define SPYI_WALK_REVERSED 16u // some stride is negative: indices count from the lowest element
// The variant does not load or store the leaf's memory: another pass adds to this gradient, the next dispatch
// finishes its sums, or this dispatch finishes the sums of other leaves.
#define SPYI_WALK_SKIPPED 32u
// A gradient that several elements share: each thread sums its elements, then the team sums its threads.
#define SPYI_WALK_SUMMED 64u
// The team's sum is added atomically, because several teams share the gradient.
#define SPYI_WALK_ATOMIC 128u

#define SPYI_WHOLE_TEAM 255u

// The number of scalars in a vector of wide variants.
#define SPYI_LANES 4u

// The properties that tell one kernel variant of a plan from another. Keys are compared as bytes.
typedef struct spyi_variant_key {
    uint8_t rank;    // collapsed dimensions; 0 means that the call has one element
    uint8_t width;   // neighbouring elements a thread takes: 1; wide variants: 4, or as many as 16 bytes hold
    uint8_t crosses; // wide: a thread's elements may lie in several rows; each has its own coordinates
    uint8_t unroll;  // elements of each thread, a group's size apart: 1, or 2 or 4 in flat variants of large
                     // calls; in tiled variants the rows of a tile in which a thread has elements
    uint8_t tile;    // elements of a tile along each of its two dimensions; 0: the variant has no tiles
    uint8_t turn;    // tiled: one dimension of a tile is this one, the other the last one
    uint8_t bindings; // memory is reached through structured buffers; 0 means that it is reached through
                      // pointers
    uint8_t index64;  // offsets need more than 32 bits
    uint8_t folded;   // the groups exceed one dimension of a dispatch, and are folded into two
    uint8_t walk_count;
    uint8_t grouped;   // threads are ordered by call groups; dimensions are not collapsed
    uint8_t team;      // sums of gradients: 1 + log2 of a team's threads, or SPYI_WHOLE_TEAM; 0 means no sums
    uint8_t inner;     // team: its threads are neighbours; 0 means that neighbouring threads belong to
                       // different teams
    uint8_t finishes;  // team: the dispatch sums what the teams of the dispatch before it left
    uint8_t together;  // gradients may share memory: a thread adds to them one after another
    uint8_t by_team;   // team: the two dimensions are the sum's number and the element's number in the sum
    uint8_t batch;     // spyi_batch_way
    uint8_t reordered; // dimensions are not in the call's order, but the kernel needs element numbers
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES]; // the spyi_walk_kind and flags of each leaf; 0 beyond walk_count
} spyi_variant_key;

// One operation of a pack program, which writes a value to byte `offset` of the block.
typedef enum spyi_pack_op {
    SPYI_PACK_COUNT,   // the number of elements of the call, uint32
    SPYI_PACK_ROW,     // the number of threads in one row of folded groups, uint32
    SPYI_PACK_THREADS, // the number of threads of a dispatch in x, y or z (`dim`), uint32
    SPYI_PACK_GROUPS,  // the number of groups of a dispatch in x, y or z (`dim`), uint32
    SPYI_PACK_SHAPE,   // the size of the call's own dimension `dim`, uint32
    SPYI_PACK_SIZE,    // the size of collapsed dimension `dim`, uint32, which tiled variants count in tiles
    SPYI_PACK_MAGIC,   // the multiplier that divides by the size of dimension `dim`, uint32
    SPYI_PACK_SHIFT,   // the shift that divides by the size of dimension `dim`, uint32
    SPYI_PACK_EDGE,    // in tiled variants: the size of collapsed dimension `dim` in elements, uint32
    SPYI_PACK_BASE,    // the number of elements from the binding's start or the lowest element to element 0,
                       // uint32 or int64
    SPYI_PACK_STRIDE,  // the leaf's stride along collapsed dimension `dim`, int32 or int64
    SPYI_PACK_INNER,   // the leaf's stride along consumed dimension `dim`, int32 or int64
    SPYI_PACK_ELEMENT, // the stride of the call's elements along collapsed dimension `dim`, uint32
    SPYI_PACK_TEAM,    // one uint32, which `dim` chooses: sums, elements of a sum, its parts, elements of a
                       // part, groups of a row
    SPYI_PACK_PRINT,   // the address of the device's print buffer, uint64
    // From here on the values differ even between calls of equal shapes.
    SPYI_PACK_ADDRESS, // the address of the leaf's lowest element, uint64
    SPYI_PACK_SUMS,    // the address of the sums that teams leave for the leaf, uint64
    // From here on the order is that of spyi_field_op.
    SPYI_PACK_SCALAR, // a number, converted to the leaf's type
    SPYI_PACK_BYTES,  // a host value, in the device's layout
    SPYI_PACK_INLINE, // a host array, in the device's layout
    SPYI_PACK_KIND,   // a field that the leaf's kind packs by itself
    SPYI_PACK_SIZES,  // writes nothing; fails unless the value has the sizes that the leaf's type needs
    SPYI_PACK_BINDING // binds the leaf's tensor to binding number `offset`
} spyi_pack_op;

typedef struct spyi_pack {
    uint8_t op; // a spyi_pack_op
    uint8_t dim;
    uint16_t leaf;
    uint32_t offset;
} spyi_pack;

// The text of a kernel, and the data that a dispatch of it needs.
typedef struct spyi_emitted {
    spyi_text text;
    spyi_pack *packs;
    uint32_t pack_count;
    uint32_t block_size;
    bool block_by_address;
    uint32_t binding_count;
    uint16_t bindings[SPYI_MOST_MEMORY_LEAVES]; // the leaf of each structured buffer
    uint32_t holder_count;
    uint16_t holders[SPYI_MOST_MEMORY_LEAVES]; // the leaf of each ConstantBuffer<T> parameter
    uint32_t group_size;
    uint32_t shared_bytes; // the dynamic shared memory of a group in bytes, beside that of the call's options
    bool prints;           // the block has the address of the device's print buffer
} spyi_emitted;

// The threads of a group that adds partial sums to the gradients of a network; a group takes 32 sums.
#define SPYI_BATCH_ADDERS 256u

#define SPYI_KERNEL_ENTRY "spyi_kernel"

// Writes the kernel of a bound call for devices of `profile`.
SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_profile *profile,
                             const spyi_bound *bound, const spyi_variant_key *key, spyi_emitted *out,
                             spyi_text *error);
// Writes the kernel of a graph of calls. The arguments and the result of the graph are those of the binding.
SPYI_FN spy_status spyi_emit_graph(const spy_function *function, const spyi_profile *profile,
                                   const spyi_bound *bound, const spyi_graph *graph,
                                   const spyi_variant_key *key, spyi_emitted *out, spyi_text *error);
// Makes the pack program for a compute shader of the user's module. The shader runs as it is: no text is
// written.
SPYI_FN spy_status spyi_emit_entry(const spyi_profile *profile, const spyi_bound *bound,
                                   const spyi_entry *entry, spyi_emitted *out, spyi_text *error);
// Returns the number of threads in a group, for a kernel over `rank` collapsed dimensions.
SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_profile *profile, uint32_t rank);
// Returns the largest number of groups in y, in z, and in one row of folded groups. Some devices take more
// groups in x alone.
SPYI_FN uint32_t spyi_most_rows(const spyi_profile *profile);
// Writes the size of the call group that the options give, along each dimension of the call. Returns false
// when the options give none; all sizes are 1 then.
SPYI_FN bool spyi_given_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]);
// Writes the size of the call group that the options give, or the tiles of calls over textures whose options
// give no group. Tiles order the threads only; functions that ask for the call group do not see them.
SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]);
SPYI_FN void spyi_emitted_free(spyi_emitted *emitted);
// Returns the operation that packs the field of a leaf.
SPYI_FN spyi_pack_op spyi_pack_op_of(const spyi_leaf *leaf);

// Writes the expression of a field of variable `parent`, or of an array element of it.
SPYI_FN void spyi_spell_field(const char *parent, const spyi_node *field, spyi_text *out);
// Returns whether a variant loads the leaf as vectors: `width` neighbouring elements at once.
SPYI_FN bool spyi_key_is_vector(const spyi_variant_key *key, uint32_t leaf);
// Returns whether the last thread of a wide variant may have fewer elements than the others.
SPYI_FN bool spyi_key_has_tail(const spyi_variant_key *key);
// Returns the number of 32-bit words that one access of a wide leaf moves: 1, 2 or 4 for small scalars, which
// go as uint, uint2 or uint4; 0 for other scalars, whose vectors go as they are. `columns` is the number of
// scalars in an element, `scalar` the bytes of one.
SPYI_FN uint32_t spyi_key_words(const spyi_variant_key *key, const spyi_rules *rules, uint32_t columns,
                                size_t scalar);
// Returns the number of threads in a team. A group has group_size / spyi_team_size() teams.
SPYI_FN uint32_t spyi_team_size(const spyi_variant_key *key, uint32_t group_size);

#endif // SPYI_EMIT_H
