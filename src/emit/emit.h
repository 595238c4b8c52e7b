// Emission: the text of one kernel variant of a bound call, and the program that packs its parameter block.
#ifndef SPYI_EMIT_H
#define SPYI_EMIT_H

#include "emit/graph.h"
#include "kinds/kind.h"

#define SPYI_MOST_MEMORY_LEAVES 64

// How a leaf's memory is walked, told by the strides of the collapsed dimensions.
typedef enum spyi_walk_kind {
    SPYI_WALK_UNIFORM, // all strides 0: loaded once
    SPYI_WALK_LINEAR,  // element number = thread's element number
    SPYI_WALK_INNER,   // wide: neighbours along the innermost dimension, other strides any
    SPYI_WALK_STILL,   // wide: innermost stride 0, other strides any
    SPYI_WALK_STRIDED  // any strides
} spyi_walk_kind;

#define SPYI_WALK_MASK 7u
#define SPYI_WALK_GATHER 8u    // consumed dimensions are not packed: components are loaded one by one
#define SPYI_WALK_REVERSED 16u // some stride is negative: indices count from the lowest element
#define SPYI_WALK_SKIPPED 32u  // not touched: a gradient that another pass adds to, or whose sum is finished later
#define SPYI_WALK_SUMMED 64u   // a gradient that elements share: summed over the thread's elements, then over the team
#define SPYI_WALK_ATOMIC 128u  // ... and then added atomically, as teams share it too

#define SPYI_WHOLE_TEAM 255u

// Scalars of a vector in wide variants.
#define SPYI_LANES 4u

// What tells one variant of a plan's kernel from another. Compared as bytes.
typedef struct spyi_variant_key {
    uint8_t rank;     // collapsed dimensions; 0: one element
    uint8_t width;    // neighbouring elements a thread: 1; in wide variants 4, or as many as 16 bytes hold
    uint8_t crosses;  // ... whose elements may lie in several rows: each has coordinates of its own
    uint8_t unroll;   // elements a thread that lie a group apart: 1, or 4 in flat variants of large calls
    uint8_t bindings; // structured buffers instead of pointers
    uint8_t index64;  // offsets beyond 32 bits
    uint8_t folded;   // more groups than one dimension holds
    uint8_t walk_count;
    uint8_t grouped;                       // threads are placed by call groups; dimensions are not collapsed
    uint8_t team;      // passes that sum gradients: 1 + the logarithm of a team's threads, SPYI_WHOLE_TEAM; else 0
    uint8_t inner;     // ... its threads lie next to each other; else one of each team does
    uint8_t finishes;  // ... and this one sums what teams have left
    uint8_t together;  // gradients may lie in the same memory: they are added to one after another
    uint8_t by_team;   // ... its two dimensions are the sum's number and the element's in it
    uint8_t reordered; // dimensions stand in another order than the call's, and somebody asks for that
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES]; // by leaf: spyi_walk_kind, _GATHER, _REVERSED; unused ones 0
} spyi_variant_key;

// One step of packing: `offset` is where in the block.
typedef enum spyi_pack_op {
    SPYI_PACK_COUNT,   // elements, uint32
    SPYI_PACK_ROW,     // threads of a row of groups, uint32
    SPYI_PACK_THREADS, // of a dispatch in x, y or z (`dim`), uint32
    SPYI_PACK_GROUPS,  // groups of a dispatch in x, y or z, uint32
    SPYI_PACK_SHAPE,   // size of the call's own dimension `dim`, uint32
    SPYI_PACK_SIZE,    // size of collapsed dimension `dim`, uint32
    SPYI_PACK_MAGIC,   // its multiplier for division, uint32
    SPYI_PACK_SHIFT,   // and its shift, uint32
    SPYI_PACK_BASE,    // elements from the binding's start, or the lowest one, to the first; uint32 or int64
    SPYI_PACK_STRIDE,  // of the leaf along collapsed dimension `dim`, int32 or int64
    SPYI_PACK_INNER,   // of the leaf along consumed dimension `dim`, int32 or int64
    SPYI_PACK_ELEMENT, // of the call's elements along collapsed dimension `dim`, uint32
    SPYI_PACK_TEAM,    // `dim`: sums, elements of each, parts of each, elements of a part, groups of a row; uint32
    SPYI_PACK_PRINT,   // address of the device's print buffer, uint64
    SPYI_PACK_ADDRESS, // of the leaf's lowest element, uint64; from here on calls of equal shapes differ
    SPYI_PACK_SUMS,    // of what teams leave of the leaf's sums, uint64
    SPYI_PACK_SCALAR,  // number, converted; from here on in the order of spyi_field_op
    SPYI_PACK_BYTES,   // host value in the device's layout
    SPYI_PACK_INLINE,  // host array in the device's layout
    SPYI_PACK_KIND,    // what the leaf's kind packs
    SPYI_PACK_SIZES,   // nothing: the value must have the sizes that the leaf's type takes
    SPYI_PACK_BINDING  // the leaf's tensor, into the binding of number `offset`
} spyi_pack_op;

typedef struct spyi_pack {
    uint8_t op; // spyi_pack_op
    uint8_t dim;
    uint16_t leaf;
    uint32_t offset;
} spyi_pack;

// A kernel's text and how to call it.
typedef struct spyi_emitted {
    spyi_text text;
    spyi_pack *packs;
    uint32_t pack_count;
    uint32_t block_size;
    bool block_by_address;
    uint32_t binding_count;
    uint16_t bindings[SPYI_MOST_MEMORY_LEAVES]; // leaf of each binding
    uint32_t holder_count;
    uint16_t holders[SPYI_MOST_MEMORY_LEAVES]; // leaf of each ConstantBuffer<T> among the parameters
    uint32_t group_size;
    bool prints; // the block has the address of the device's print buffer
} spyi_emitted;

#define SPYI_KERNEL_ENTRY "spyi_kernel"

// The kernel is for devices of `profile`.
SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_profile *profile,
                             const spyi_bound *bound, const spyi_variant_key *key, spyi_emitted *out,
                             spyi_text *error);
// Likewise of a graph of calls, whose arguments and result are the binding's.
SPYI_FN spy_status spyi_emit_graph(const spy_function *function, const spyi_profile *profile,
                                   const spyi_bound *bound, const spyi_graph *graph,
                                   const spyi_variant_key *key, spyi_emitted *out, spyi_text *error);
// What packs the parameters of a compiled shader of the module's own; `out` has been emitted without text.
SPYI_FN spy_status spyi_emit_entry(const spyi_profile *profile, const spyi_bound *bound,
                                   const spyi_entry *entry, spyi_emitted *out, spyi_text *error);
// Threads of a group of a kernel over `rank` collapsed dimensions.
SPYI_FN uint32_t spyi_group_size(const spyi_bound *bound, const spyi_profile *profile, uint32_t rank);
// Groups in y and z, and in rows of folded ones: some devices take more of them in x alone.
SPYI_FN uint32_t spyi_most_rows(const spyi_profile *profile);
// Elements of a call group along each of the call's dimensions; false: there are no groups, and all are 1.
SPYI_FN bool spyi_call_group(const spyi_bound *bound, uint32_t group[SPY_MAX_RANK]);
SPYI_FN void spyi_emitted_free(spyi_emitted *emitted);
// The operation that fills the field of a leaf.
SPYI_FN spyi_pack_op spyi_pack_op_of(const spyi_leaf *leaf);

// A field of the variable `parent`, or an element of an array.
SPYI_FN void spyi_spell_field(const char *parent, const spyi_node *field, spyi_text *out);
// Whether a variant loads a leaf as vectors of `width` scalars.
SPYI_FN bool spyi_key_is_vector(const spyi_variant_key *key, uint32_t leaf);
// Threads of a team, and how many teams stand side by side in a group.
SPYI_FN uint32_t spyi_team_size(const spyi_variant_key *key, uint32_t group_size);

#endif // SPYI_EMIT_H
