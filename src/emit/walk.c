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
    return key->width > 1 && (walk == SPYI_WALK_LINEAR || walk == SPYI_WALK_INNER);
}

SPYI_FN bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf) {
    return spyi_key_is_vector(s->key, leaf);
}

SPYI_FN bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t i) {
    uint32_t walk = spyi_walk_of(s, i);
    return !s->bound->leaves[i].out &&
           (walk == SPYI_WALK_UNIFORM || (s->key->width > 1 && walk == SPYI_WALK_STILL));
}

SPYI_FN bool spyi_has_tail(const spyi_emit_state *s) {
    return s->key->width > 1 && (s->key->rank == 1 || s->key->crosses);
}

SPYI_FN const char *spyi_own_suffix(const spyi_emit_state *s) {
    return s->key->crosses ? s->suffix : "";
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

// Returns the type in which the leaf's memory is declared: one element of its walk.
SPYI_FN const spyi_type *spyi_memory_type(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    return spyi_gathers(s, i) ? leaf->element : leaf->packed;
}

SPYI_FN bool spyi_is_long_vector(const spyi_emit_state *s, const spyi_type *type) {
    return s->rules->splits_vectors && type->kind == SPYI_TYPE_VECTOR && type->columns > 2 &&
           spyi_scalar_size(type->scalar) == 8;
}

SPYI_FN bool spyi_is_split_field(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    return (leaf->traits & SPYI_TRAIT_VALUE) && spyi_is_long_vector(s, leaf->element);
}

SPYI_FN bool spyi_is_split(const spyi_emit_state *s, uint32_t i) {
    return !s->key->bindings && !spyi_is_wide(s, i) && spyi_is_long_vector(s, spyi_memory_type(s, i));
}

// Returns the number of vectors that hold the thread's elements of a wide leaf.
SPYI_FN uint32_t spyi_vectors(const spyi_emit_state *s, uint32_t i) {
    return spyi_memory_type(s, i)->columns * s->key->width / SPYI_LANES;
}

// Returns the number of vectors that one access of a wide leaf moves: 1, or 2 or 4 if they go as one uint4.
SPYI_FN uint32_t spyi_packed(const spyi_emit_state *s, uint32_t i) {
    const spyi_type *memory = spyi_memory_type(s, i);
    size_t size = spyi_type_scalar(s->types, memory->scalar)->device_size;
    bool packs = s->rules->packs_words && memory->columns == 1 && size < 4 && s->key->width * size >= 16;
    return packs ? (uint32_t)(16 / (SPYI_LANES * size)) : 1;
}
