// Reads from a variant's key how its kernel walks the memory of a leaf: whether the leaf is loaded as
// vectors, gathered by components, or loaded once a thread, and in which type its memory is declared.
#include "emit/internal.h"

SPYI_FN uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf) {
    return s->key->walk[leaf] & SPYI_WALK_MASK;
}

SPYI_FN bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->walk[leaf] & SPYI_WALK_GATHER) != 0;
}

SPYI_FN bool spyi_is_skipped(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->walk[leaf] & SPYI_WALK_SKIPPED) != 0;
}

SPYI_FN bool spyi_is_summed(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->walk[leaf] & SPYI_WALK_SUMMED) != 0;
}

SPYI_FN bool spyi_key_is_vector(const spyi_variant_key *key, uint32_t leaf) {
    uint32_t walk = key->walk[leaf] & SPYI_WALK_MASK;
    if (key->walk[leaf] & (SPYI_WALK_SUMMED | SPYI_WALK_SKIPPED)) return false;
    return key->width > 1 &&
           (walk == SPYI_WALK_LINEAR || walk == SPYI_WALK_INNER || walk == SPYI_WALK_TURNED);
}

SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf) {
    return spyi_key_is_vector(s->key, leaf);
}

SPYI_FN bool spyi_is_turned(const spyi_emit_state *s, uint32_t leaf) {
    return spyi_walk_of(s, leaf) == SPYI_WALK_TURNED;
}

SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t i) {
    uint32_t walk = spyi_walk_of(s, i);
    return !s->bound->leaves[i].out &&
           (walk == SPYI_WALK_UNIFORM || (s->key->width > 1 && !s->key->tile && walk == SPYI_WALK_STILL));
}

SPYI_FN bool spyi_key_has_tail(const spyi_variant_key *key) {
    return key->width > 1 && !key->team && (key->rank == 1 || key->crosses);
}

SPYI_FN bool spyi_has_tail(const spyi_emit_state *s) {
    return spyi_key_has_tail(s->key);
}

SPYI_FN const char *spyi_own_suffix(const spyi_emit_state *s) {
    return s->key->crosses ? s->suffix : s->unit;
}

SPYI_FN bool spyi_fills_warps(const spyi_emit_state *s) {
    return s->bound->whole_warps && s->key->rank > 0 && !s->key->team && !s->key->grouped;
}

SPYI_FN bool spyi_needs_coordinates(const spyi_emit_state *s) {
    if (s->key->reordered) return true;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++)
        if (spyi_leaf_in_memory(&s->bound->leaves[i]) && spyi_walk_of(s, i) >= SPYI_WALK_INNER) return true;
    return false;
}

// Returns whether the leaf's indices start at a base. With pointers only reversed leaves have one, because an
// index must not be negative: NVIDIA's driver takes it as unsigned.
SPYI_FN bool spyi_has_base(const spyi_emit_state *s, uint32_t leaf) {
    return (s->key->bindings && !spyi_is_wide(s, leaf)) || (s->key->walk[leaf] & SPYI_WALK_REVERSED);
}

SPYI_FN bool spyi_has_stride(const spyi_emit_state *s, uint32_t leaf, uint32_t dim) {
    uint32_t walk = spyi_walk_of(s, leaf);
    if (walk == SPYI_WALK_TURNED) return dim != s->key->turn;
    return walk == SPYI_WALK_STRIDED || (walk >= SPYI_WALK_INNER && dim + 1u < s->key->rank);
}

// Returns the type in which the leaf's memory is declared: one element of its walk.
SPYI_FN const spyi_type *spyi_memory_type(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    return spyi_gathers(s, i) ? leaf->element : leaf->packed;
}

SPYI_FN bool spyi_is_long_vector(const spyi_emit_state *s, const spyi_type *type) {
    return s->rules->splits_vectors && type->kind == SPYI_TYPE_VECTOR && type->columns > 2 &&
           spy_dtype_size_bytes(type->scalar) == 8;
}

SPYI_FN bool spyi_is_split_field(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    return (leaf->traits & SPYI_TRAIT_VALUE) && spyi_is_long_vector(s, leaf->element);
}

SPYI_FN bool spyi_is_split(const spyi_emit_state *s, uint32_t i) {
    return !s->key->bindings && !spyi_is_wide(s, i) && spyi_is_long_vector(s, spyi_memory_type(s, i));
}

// Returns the number of vectors that hold a wide leaf's elements: those of a thread, or in teams those of one of its
// units.
SPYI_FN uint32_t spyi_vectors(const spyi_emit_state *s, uint32_t i) {
    uint32_t rows = s->key->team ? 1 : s->key->unroll;
    return spyi_memory_type(s, i)->columns * s->key->width * rows / SPYI_LANES;
}

SPYI_FN uint32_t spyi_key_words(const spyi_variant_key *key, const spyi_rules *rules, uint32_t columns,
                                size_t scalar) {
    size_t bytes = key->width * scalar;
    if (!rules->packs_words || columns != 1 || scalar >= 4) return 0;
    return bytes < 16 ? (uint32_t)(bytes / 4) : 4;
}

SPYI_FN uint32_t spyi_words(const spyi_emit_state *s, uint32_t i) {
    const spyi_type *memory = spyi_memory_type(s, i);
    return spyi_key_words(s->key, s->rules, memory->columns,
                          spyi_type_scalar(s->types, memory->scalar)->device_size);
}

// Returns the number of vectors that one access of a wide leaf moves. A vector has as many words as its scalars have
// bytes.
SPYI_FN uint32_t spyi_packed(const spyi_emit_state *s, uint32_t i) {
    uint32_t words = spyi_words(s, i);
    size_t scalar = spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar)->device_size;
    return words ? (uint32_t)(words / scalar) : 1;
}

// Returns whether a wide leaf has a second structured buffer of its scalars. Its vectors are those of a buffer of
// words, which the last thread, that stores single elements, cannot use.
SPYI_FN bool spyi_has_scalars(const spyi_emit_state *s, uint32_t i) {
    return s->key->bindings && s->bound->leaves[i].out && spyi_is_wide(s, i) && spyi_words(s, i) &&
           spyi_has_tail(s);
}
