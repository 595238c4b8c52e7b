// The text of a kernel: loads, one call, stores. User code is imported, never pasted.
//
// What was tried, GB/s on an NVIDIA H200 under Vulkan. Hand-written kernels, 2^26 floats:
//   one float a thread, groups of 32                      630
//   one float a thread, groups of 256                    3150
//   float4 through pointers, groups of 256               3144
//   float4 through StructuredBuffer<float4>, 256         4002   <- wide variant with bindings
//   16 floats a thread, pointers, strided float4 first   3894
//   float3, four elements as three float4                1546   (array went to local memory)
//   row broadcast, a division a thread                   2121;  float4 along the row 3435
// These kernels, 2^26 floats and 2^24 float3, timestamps round the dispatch; groups of 128, 256 and 512 agree to 2 %:
//   wide: add 4090, add scalar 3900, row broadcast 3900
//   flat, views that begin off the vector grid, elements a thread:  1: 2220   2: 3310   4: 3660   8: 3150
//   flat, float3 in and out, elements a thread:                     1: 3600   2: 3700   4: 3620   8: 3570
// lavapipe: structured buffers are 2.4 to 5 times faster than pointers.
#include "emit/emit.h"

// >>leaves

SPYI_FN bool spyi_leaf_in_memory(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_TENSOR || leaf->source == SPYI_SOURCE_UPLOAD || leaf->source == SPYI_SOURCE_NEW ||
           leaf->source == SPYI_SOURCE_READBACK;
}

SPYI_FN bool spyi_leaf_can_widen(const spyi_leaf *leaf) {
    return leaf->consumed == 0 && leaf->element->kind == SPYI_TYPE_SCALAR && leaf->type->kind == SPYI_TYPE_SCALAR;
}

static const spyi_type *spyi_innermost(const spyi_type *type) {
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type;
}

SPYI_FN const spyi_type *spyi_leaf_memory_type(spyi_types *types, const spyi_leaf *leaf, bool gather) {
    if (leaf->source == SPYI_SOURCE_READBACK) return leaf->type;
    if (leaf->consumed == 0 || gather) return leaf->element;
    const spyi_type *inner = spyi_innermost(leaf->element);
    if (inner->kind == SPYI_TYPE_STRUCT) return leaf->type;
    return spyi_type_with_scalar(types, leaf->type, inner->scalar);
}

// As Slang code spells a type.
static const char *spyi_spell(const spyi_type *type) {
    return type->kind == SPYI_TYPE_ARRAY || type->kind == SPYI_TYPE_STRUCT ? type->name : type->display;
}

// As a type is declared in memory: bare bools are uints there, since SPIR-V has no bool vectors in memory.
static void spyi_spell_memory(const spyi_type *type, spyi_text *out) {
    bool bare = type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR;
    if (!bare || type->scalar != SPY_BOOL) spyi_text_add(out, "%s", spyi_spell(type));
    else if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "uint");
    else spyi_text_add(out, "uint%u", type->columns);
}

static bool spyi_bare_bool(const spyi_type *type) {
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) && type->scalar == SPY_BOOL;
}

// `expression` of memory type `from` as a value of type `to`.
static void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression, spyi_text *out) {
    if (spyi_bare_bool(from) && spyi_bare_bool(to)) spyi_text_add(out, "%s != 0", expression);
    else if (spyi_bare_bool(from)) spyi_text_add(out, "%s(%s != 0)", spyi_spell(to), expression);
    else if (from == to) spyi_text_add(out, "%s", expression);
    else spyi_text_add(out, "%s(%s)", spyi_spell(to), expression);
}

// A value of type `from` as it is stored; outputs never change scalars otherwise.
static void spyi_spell_store(const spyi_type *from, const char *expression, spyi_text *out) {
    if (!spyi_bare_bool(from)) {
        spyi_text_add(out, "%s", expression);
    } else {
        spyi_spell_memory(from, out);
        spyi_text_add(out, "(%s)", expression);
    }
}

// >>state of one emission

typedef struct spyi_emit_state {
    const spyi_bound *bound;
    const spyi_variant_key *key;
    spyi_types *types;
    spyi_emitted *out;
    spyi_text fields;   // of the parameter block's struct
    spyi_text buffers;  // entry-point parameters
    spyi_text body;
    char **names;       // of each leaf in block and buffers: its path with dots replaced
    char **lvalues;     // of each leaf in the kernel
    bool *fresh;        // the leaf's variable is declared where it is loaded
    uint32_t pack_capacity;
    size_t block_align; // largest alignment of a field
    char suffix[8];     // of variables of one of several elements a thread: "", "_0", "_1", ...
    bool failed;        // out of memory
} spyi_emit_state;

static uint32_t spyi_walk_of(const spyi_emit_state *s, uint32_t leaf) { return s->key->walk[leaf] & SPYI_WALK_MASK; }
static bool spyi_gathers(const spyi_emit_state *s, uint32_t leaf) { return (s->key->walk[leaf] & SPYI_WALK_GATHER) != 0; }

// Whether this variant loads the leaf as vectors of `width` elements.
static bool spyi_is_wide(const spyi_emit_state *s, uint32_t leaf) {
    uint32_t walk = spyi_walk_of(s, leaf);
    return s->key->width > 1 && (walk == SPYI_WALK_LINEAR || walk == SPYI_WALK_INNER);
}

static void spyi_add_pack(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, uint32_t offset) {
    spyi_emitted *e = s->out;
    if (e->pack_count == s->pack_capacity) {
        uint32_t capacity = s->pack_capacity ? s->pack_capacity * 2 : 32;
        spyi_pack *packs = (spyi_pack *)realloc(e->packs, capacity * sizeof *packs);
        if (!packs) {
            s->failed = true;
            return;
        }
        e->packs = packs;
        s->pack_capacity = capacity;
    }
    spyi_pack *pack = &e->packs[e->pack_count++];
    pack->op = (uint8_t)op;
    pack->dim = (uint8_t)dim;
    pack->leaf = (uint16_t)leaf;
    pack->offset = offset;
}

// A field of the block: its text, its place, and the step that fills it.
static void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size, size_t align,
                           const char *format, ...) SPYI_PRINTF(7, 8);
static void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size, size_t align,
                           const char *format, ...) {
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    spyi_text_add(&s->fields, "    %s;\n", line);
    size_t offset = spyi_align(s->out->block_size, align);
    if (align > s->block_align) s->block_align = align;
    spyi_add_pack(s, op, dim, leaf, (uint32_t)offset);
    s->out->block_size = (uint32_t)(offset + size);
}

static void spyi_make_names(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        char *name = spyi_strdup(b->leaves[i].path);
        s->names[i] = name;
        if (!name) {
            s->failed = true;
            return;
        }
        for (char *c = name; *c; c++)
            if (*c == '.') *c = '_';
        for (uint32_t j = 0; j < i; j++) { // "a.b" beside "a_b"
            if (strcmp(s->names[j], name) != 0) continue;
            spyi_text unique = { NULL, 0, 0 };
            spyi_text_add(&unique, "%s__%u", name, i);
            free(name);
            s->names[i] = unique.data;
            break;
        }
    }
}

// >>the block

static void spyi_declare_leaf(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *memory = spyi_leaf_memory_type(s->types, leaf, spyi_gathers(s, i));
    spyi_text type = { NULL, 0, 0 };
    spyi_spell_memory(memory, &type);
    if (spyi_is_wide(s, i)) spyi_text_add(&type, "%u", s->key->width);
    if (!s->key->bindings) {
        spyi_add_field(s, SPYI_PACK_ADDRESS, 0, i, 8, 8, "%s* %s", spyi_text_str(&type), s->names[i]);
    } else {
        spyi_text_add(&s->buffers, ",\n                uniform %sStructuredBuffer<%s> b_%s", leaf->out ? "RW" : "",
                      spyi_text_str(&type), s->names[i]);
        s->out->bindings[s->out->binding_count++] = (uint16_t)i;
    }
    spyi_text_free(&type);
}

static bool spyi_needs_coordinates(const spyi_emit_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++)
        if (spyi_leaf_in_memory(&s->bound->leaves[i]) && spyi_walk_of(s, i) >= SPYI_WALK_INNER) return true;
    return false;
}

static void spyi_declare_block(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    const spyi_variant_key *key = s->key;
    const char *index = key->index64 ? "int64_t" : "int";
    size_t index_size = key->index64 ? 8 : 4;
    for (uint32_t i = 0; i < b->leaf_count; i++) // addresses first: they need 8-byte places
        if (spyi_leaf_in_memory(&b->leaves[i])) spyi_declare_leaf(s, i);
    if (key->rank > 0) spyi_add_field(s, SPYI_PACK_COUNT, 0, 0, 4, 4, "uint _count");
    if (key->folded) spyi_add_field(s, SPYI_PACK_ROW, 0, 0, 4, 4, "uint _row");
    if (spyi_needs_coordinates(s)) {
        for (uint32_t d = 1; d < key->rank; d++) {
            spyi_add_field(s, SPYI_PACK_SIZE, d, 0, 4, 4, "uint _size%u", d);
            spyi_add_field(s, SPYI_PACK_MAGIC, d, 0, 4, 4, "uint _magic%u", d);
            spyi_add_field(s, SPYI_PACK_SHIFT, d, 0, 4, 4, "uint _shift%u", d);
        }
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const char *name = s->names[i];
        if (!spyi_leaf_in_memory(leaf)) {
            const spyi_type *type = leaf->source == SPYI_SOURCE_SCALAR ? leaf->element : leaf->type;
            spyi_pack_op op = leaf->source == SPYI_SOURCE_SCALAR  ? SPYI_PACK_SCALAR
                              : leaf->source == SPYI_SOURCE_BYTES ? SPYI_PACK_BYTES
                                                                  : SPYI_PACK_INLINE;
            spyi_add_field(s, op, 0, i, spyi_align(type->device_size, type->device_align), type->device_align, "%s %s",
                           spyi_spell(type), name);
            continue;
        }
        uint32_t walk = spyi_walk_of(s, i);
        if (key->bindings && !spyi_is_wide(s, i)) spyi_add_field(s, SPYI_PACK_BASE, 0, i, 4, 4, "uint %s__base", name);
        for (uint32_t d = 0; d < key->rank && walk >= SPYI_WALK_INNER; d++)
            if (d + 1 < key->rank || walk == SPYI_WALK_STRIDED)
                spyi_add_field(s, SPYI_PACK_STRIDE, d, i, index_size, index_size, "%s %s__stride%u", index, name, d);
        for (uint32_t d = 0; d < leaf->consumed && spyi_gathers(s, i); d++)
            spyi_add_field(s, SPYI_PACK_INNER, d, i, index_size, index_size, "%s %s__inner%u", index, name, d);
    }
    if (s->out->block_size) // as large as the compiler makes it, and whole words
        s->out->block_size = (uint32_t)spyi_align(spyi_align(s->out->block_size, s->block_align), 4);
}

// >>the body

// Where leaf `i`'s element lies: "spy.x[...]" with `k` added to its position ("" for none).
static void spyi_element(const spyi_emit_state *s, uint32_t i, const char *k, const char *inner, bool store, spyi_text *out) {
    const spyi_variant_key *key = s->key;
    const char *name = s->names[i];
    uint32_t walk = spyi_walk_of(s, i);
    if (key->bindings) spyi_text_add(out, "b_%s[", name);
    else spyi_text_add(out, "spy.%s[", name);
    bool first = true;
    if (key->bindings && !spyi_is_wide(s, i)) {
        spyi_text_add(out, "spy.%s__base", name);
        first = false;
    }
    if (walk == SPYI_WALK_LINEAR) {
        // Of several elements all are loaded, so that the loads are under way together; the last one stands in for
        // those behind the end.
        const char *form = spyi_is_wide(s, i) ? "%sspy_vector" : s->suffix[0] && !store ? "%smin(spy_i%s, spy_last)" : "%sspy_i%s";
        spyi_text_add(out, form, first ? "" : " + ", s->suffix);
        first = false;
    } else if (walk != SPYI_WALK_UNIFORM) {
        spyi_text_add(out, "%s%s_at", first ? "" : " + ", name);
        first = false;
    }
    if (k[0] && walk == SPYI_WALK_STRIDED) spyi_text_add(out, " + %s * spy.%s__stride%u", k, name, key->rank - 1u);
    if (inner[0]) {
        spyi_text_add(out, "%s%s", first ? "" : " + ", inner);
        first = false;
    }
    spyi_text_add(out, first ? "0]" : "]");
}

// Loads or stores one value of leaf `i` between memory and the variable `value`.
static void spyi_move_value(spyi_emit_state *s, uint32_t i, const char *value, const char *k, bool store, const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 }, part = { NULL, 0, 0 }, inner = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    const spyi_type *memory = spyi_leaf_memory_type(s->types, leaf, spyi_gathers(s, i));
    const spyi_type *type = leaf->type;
    spyi_text_add(&part, "%s", value);
    spyi_text_add(&line, "%s", indent);
    if (spyi_gathers(s, i)) {
        int64_t pieces = 1;
        for (uint32_t d = 0; d < leaf->consumed; d++) pieces *= leaf->consumed_dims[d];
        for (uint32_t d = 0; d < leaf->consumed; d++) {
            spyi_text_add(&line, "%sfor (int spy_%u = 0; spy_%u < %lld; ++spy_%u) ", pieces <= 16 ? "[ForceUnroll] " : "", d, d,
                          (long long)leaf->consumed_dims[d], d);
            spyi_text_add(&part, "[spy_%u]", d);
            spyi_text_add(&inner, "%sspy_%u * spy.%s__inner%u", d ? " + " : "", d, s->names[i], d);
            type = type->element ? type->element : type;
        }
    }
    spyi_element(s, i, k, spyi_text_str(&inner), store, &place);
    if (!store && s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
    if (store) {
        spyi_text_add(&line, "%s = ", spyi_text_str(&place));
        spyi_spell_store(type, spyi_text_str(&part), &line);
    } else {
        spyi_text_add(&line, "%s = ", spyi_text_str(&part));
        spyi_spell_load(memory, type, spyi_text_str(&place), &line);
    }
    spyi_text_add(&s->body, "%s;\n", spyi_text_str(&line));
    spyi_text_free(&place);
    spyi_text_free(&part);
    spyi_text_free(&inner);
    spyi_text_free(&line);
}

static void spyi_emit_index(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    spyi_text *body = &s->body;
    if (key->rank == 0) return;
    const char *thread = key->folded ? "spy_thread.y * spy._row + spy_thread.x" : "spy_thread.x";
    if (key->width > 1) {
        spyi_text_add(body, "    uint spy_vector = %s;\n    uint spy_i = spy_vector * %u;\n", thread, key->width);
    } else if (key->unroll > 1) {
        uint32_t group = s->out->group_size;
        spyi_text_add(body, "    uint spy_t = %s;\n    uint spy_i_0 = spy_t / %u * %u + spy_t %% %u;\n", thread, group,
                      group * key->unroll, group);
        spyi_text_add(body, "    if (spy_i_0 >= spy._count) return;\n    uint spy_last = spy._count - 1;\n");
        for (uint32_t k = 1; k < key->unroll; k++)
            spyi_text_add(body, "    uint spy_i_%u = spy_i_0 + %u;\n", k, group * k);
        return; // flat: no coordinates
    } else {
        spyi_text_add(body, "    uint spy_i = %s;\n", thread);
    }
    spyi_text_add(body, "    if (spy_i >= spy._count) return;\n");
    if (!spyi_needs_coordinates(s)) return;
    const char *index = key->index64 ? "int64_t" : "int";
    // Coordinates, innermost last: division by multiplication, exact for numbers below 2^31.
    if (key->rank > 1) spyi_text_add(body, "    uint spy_rest = spy_i;\n    uint spy_high;\n");
    for (uint32_t d = key->rank - 1u; d >= 1; d--) {
        spyi_text_add(body,
                      "    spy_high = (uint((uint64_t(spy_rest) * spy._magic%u) >> 32) + spy_rest) >> spy._shift%u;\n"
                      "    %s spy_c%u = %s(spy_rest - spy_high * spy._size%u);\n    spy_rest = spy_high;\n",
                      d, d, index, d, index, d);
    }
    spyi_text_add(body, "    %s spy_c0 = %s(%s);\n", index, index, key->rank > 1 ? "spy_rest" : "spy_i");
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        uint32_t walk = spyi_walk_of(s, i);
        if (!spyi_leaf_in_memory(&b->leaves[i]) || walk < SPYI_WALK_INNER) continue;
        spyi_text_add(body, "    %s %s_at = ", index, s->names[i]);
        bool first = true;
        for (uint32_t d = 0; d < key->rank; d++) {
            bool innermost = d + 1u == key->rank;
            if (innermost && walk == SPYI_WALK_STILL) continue;
            spyi_text_add(body, first ? "" : " + ");
            first = false;
            if (!innermost || walk == SPYI_WALK_STRIDED) spyi_text_add(body, "spy_c%u * spy.%s__stride%u", d, s->names[i], d);
            else if (key->width > 1) spyi_text_add(body, "spy_c%u / %u", d, key->width);
            else spyi_text_add(body, "spy_c%u", d);
        }
        spyi_text_add(body, first ? "0;\n" : ";\n");
    }
}

// Whether a leaf has a value that does not change from element to element of one thread.
static bool spyi_is_hoisted(const spyi_emit_state *s, uint32_t i) {
    uint32_t walk = spyi_walk_of(s, i);
    return !s->bound->leaves[i].out && (walk == SPYI_WALK_UNIFORM || (s->key->width > 1 && walk == SPYI_WALK_STILL));
}

// Loads that happen once a thread: hoisted values, and the vectors of wide leaves.
static void spyi_emit_thread_loads(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_leaf_in_memory(leaf)) continue;
        if (spyi_is_hoisted(s, i)) {
            spyi_text name = { NULL, 0, 0 };
            spyi_text_add(&name, "v_%s", s->names[i]);
            s->fresh[i] = !spyi_gathers(s, i);
            if (!s->fresh[i]) spyi_text_add(&s->body, "    %s v_%s;\n", spyi_spell(leaf->type), s->names[i]);
            spyi_move_value(s, i, spyi_text_str(&name), "", false, "    ");
            s->fresh[i] = false;
            spyi_text_free(&name);
        } else if (spyi_is_wide(s, i)) {
            spyi_text type = { NULL, 0, 0 }, place = { NULL, 0, 0 };
            spyi_spell_memory(leaf->element, &type);
            spyi_element(s, i, "", "", false, &place);
            if (leaf->in)
                spyi_text_add(&s->body, "    %s%u w_%s = %s;\n", spyi_text_str(&type), s->key->width, s->names[i],
                              spyi_text_str(&place));
            else // the last thread keeps what lies behind the end
                spyi_text_add(&s->body, "    %s%u w_%s;\n    if (spy_valid < %u) w_%s = %s;\n", spyi_text_str(&type),
                              s->key->width, s->names[i], s->key->width, s->names[i], spyi_text_str(&place));
            spyi_text_free(&type);
            spyi_text_free(&place);
        }
    }
}

// Gives each leaf the name of its variable, and declares the variables of parameters. Plain inputs of the block are used
// where they are.
static void spyi_emit_variables(spyi_emit_state *s, uint32_t node_index, const char *lvalue, bool top, const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    bool loaded_whole = node->leaf >= 0 && node->in && !spyi_gathers(s, (uint32_t)node->leaf);
    if (top && loaded_whole) s->fresh[node->leaf] = true;
    else if (top) spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(node->type), lvalue);
    if (node->leaf >= 0) {
        free(s->lvalues[node->leaf]);
        s->lvalues[node->leaf] = spyi_strdup(lvalue);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *child = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 };
        spyi_text_add(&field, "%s.%s", lvalue, child->name);
        spyi_emit_variables(s, node->first + i, spyi_text_str(&field), false, indent);
        spyi_text_free(&field);
    }
}

// The expression of a parameter that needs no variable of its own, or false.
static bool spyi_direct(const spyi_emit_state *s, const spyi_node *node, spyi_text *out) {
    if (node->leaf < 0 || node->out) return false;
    uint32_t i = (uint32_t)node->leaf;
    const spyi_leaf *leaf = &s->bound->leaves[i];
    if (!spyi_leaf_in_memory(leaf)) {
        if (leaf->splat) spyi_text_add(out, "%s(spy.%s)", spyi_spell(leaf->type), s->names[i]);
        else spyi_text_add(out, "spy.%s", s->names[i]);
        return true;
    }
    if (!spyi_is_hoisted(s, i)) return false;
    spyi_text_add(out, "v_%s", s->names[i]);
    return true;
}

// Fills the variables of one element from the block, from hoisted values, from vectors and from memory.
static void spyi_emit_element_loads(spyi_emit_state *s, const char *indent) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!s->lvalues[i] || !leaf->in) continue;
        spyi_text value = { NULL, 0, 0 };
        if (!spyi_leaf_in_memory(leaf) && leaf->splat) {
            spyi_text_add(&value, "%s(spy.%s)", spyi_spell(leaf->type), s->names[i]);
        } else if (!spyi_leaf_in_memory(leaf)) {
            spyi_text_add(&value, "spy.%s", s->names[i]);
        } else if (spyi_is_hoisted(s, i)) {
            spyi_text_add(&value, "v_%s", s->names[i]);
        } else if (spyi_is_wide(s, i)) {
            spyi_text from = { NULL, 0, 0 };
            spyi_text_add(&from, "w_%s[spy_k]", s->names[i]);
            spyi_spell_load(leaf->element, leaf->type, spyi_text_str(&from), &value);
            spyi_text_free(&from);
        } else {
            spyi_move_value(s, i, s->lvalues[i], s->key->width > 1 ? "int(spy_k)" : "", false, indent);
            continue;
        }
        const char *type = s->fresh[i] ? spyi_spell(leaf->type) : "";
        spyi_text_add(&s->body, "%s%s%s%s = %s;\n", indent, type, type[0] ? " " : "", s->lvalues[i], spyi_text_str(&value));
        spyi_text_free(&value);
    }
}

static void spyi_emit_element_stores(spyi_emit_state *s, const char *indent) {
    const spyi_bound *b = s->bound;
    const char *k = s->key->width > 1 ? "int(spy_k)" : "";
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || !s->lvalues[i]) continue;
        if (spyi_is_wide(s, i)) {
            spyi_text line = { NULL, 0, 0 };
            spyi_spell_store(b->leaves[i].type, s->lvalues[i], &line);
            spyi_text_add(&s->body, "%sw_%s[spy_k] = %s;\n", indent, s->names[i], spyi_text_str(&line));
            spyi_text_free(&line);
        } else {
            spyi_move_value(s, i, s->lvalues[i], k, true, indent);
        }
    }
}

// The arguments of the call for one element; declares variables for those that need one.
static void spyi_emit_arguments(spyi_emit_state *s, const char *indent, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count; p++) {
        spyi_text_add(arguments, p ? ", " : "");
        if (spyi_direct(s, &b->nodes[p], arguments)) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, indent);
        spyi_text_add(arguments, "%s", spyi_text_str(&name));
        spyi_text_free(&name);
    }
    if (!b->has_result) return;
    spyi_text name = { NULL, 0, 0 }; // the variable itself is declared with the call
    spyi_text_add(&name, "a_result%s", s->suffix);
    spyi_emit_variables(s, b->param_count, spyi_text_str(&name), false, indent);
    spyi_text_free(&name);
}

static void spyi_emit_call(spyi_emit_state *s, const char *function, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    spyi_text_add(&s->body, "%s", indent);
    if (b->has_result) spyi_text_add(&s->body, "%s a_result%s = ", spyi_spell(b->nodes[b->param_count].type), s->suffix);
    spyi_text_add(&s->body, "%s(%s);\n", function, arguments);
    spyi_emit_element_stores(s, indent);
}

// Several elements a group apart: all loads first, then each call with its stores.
static void spyi_emit_unrolled(spyi_emit_state *s, const char *function) {
    spyi_text arguments[8];
    memset(arguments, 0, sizeof arguments);
    for (uint32_t k = 0; k < s->key->unroll; k++) {
        snprintf(s->suffix, sizeof s->suffix, "_%u", k);
        spyi_emit_arguments(s, "    ", &arguments[k]);
        spyi_emit_element_loads(s, "    ");
    }
    for (uint32_t k = 0; k < s->key->unroll; k++) {
        snprintf(s->suffix, sizeof s->suffix, "_%u", k);
        spyi_text ignored = { NULL, 0, 0 }, names = { NULL, 0, 0 };
        spyi_text body = s->body; // names the variables of element k again
        s->body = names;
        spyi_emit_arguments(s, "", &ignored);
        spyi_text_free(&s->body);
        s->body = body;
        spyi_text_free(&ignored);
        if (k) spyi_text_add(&s->body, "    if (spy_i_%u >= spy._count) return;\n", k);
        spyi_emit_call(s, function, spyi_text_str(&arguments[k]), "    ");
        spyi_text_free(&arguments[k]);
    }
    s->suffix[0] = 0;
}

static void spyi_emit_body(spyi_emit_state *s, const char *function) {
    const spyi_bound *b = s->bound;
    bool wide = s->key->width > 1;
    const char *indent = wide ? "        " : "    ";
    spyi_emit_index(s);
    if (wide) spyi_text_add(&s->body, "    uint spy_valid = min(%uu, spy._count - spy_i);\n", s->key->width);
    spyi_emit_thread_loads(s);
    if (s->key->unroll > 1) {
        spyi_emit_unrolled(s, function);
        return;
    }
    if (wide)
        spyi_text_add(&s->body, "    [ForceUnroll] for (uint spy_k = 0; spy_k < %u; ++spy_k) if (spy_k < spy_valid) {\n",
                      s->key->width);
    spyi_text arguments = { NULL, 0, 0 };
    spyi_emit_arguments(s, indent, &arguments);
    spyi_emit_element_loads(s, indent);
    spyi_emit_call(s, function, spyi_text_str(&arguments), indent);
    spyi_text_free(&arguments);
    if (!wide) return;
    spyi_text_add(&s->body, "    }\n");
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || !spyi_leaf_in_memory(&b->leaves[i]) || !spyi_is_wide(s, i)) continue;
        spyi_text place = { NULL, 0, 0 };
        spyi_element(s, i, "", "", true, &place);
        spyi_text_add(&s->body, "    %s = w_%s;\n", spyi_text_str(&place), s->names[i]);
        spyi_text_free(&place);
    }
}

// >>the whole

SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_bound *bound, const spyi_variant_key *key,
                             spyi_emitted *out, spyi_text *error) {
    spy_device *device = function->object.device;
    const spyi_limits *limits = &device->base->limits;
    spyi_emit_state s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.bound = bound;
    s.key = key;
    s.types = device->types;
    s.out = out;
    s.names = (char **)calloc(bound->leaf_count + 1, sizeof *s.names);
    s.lvalues = (char **)calloc(bound->leaf_count + 1, sizeof *s.lvalues);
    s.fresh = (bool *)calloc(bound->leaf_count + 1, sizeof *s.fresh);
    s.failed = !s.names || !s.lvalues || !s.fresh;
    out->group_size = key->rank == 0 ? 1 : limits->info.max_group_size < 256 ? limits->info.max_group_size : 256;
    if (!s.failed) spyi_make_names(&s);
    if (!s.failed) {
        spyi_declare_block(&s);
        spyi_emit_body(&s, function->name);
        out->block_by_address = out->block_size > limits->max_block_bytes;
        const char *shape = key->rank == 0 ? "one element" : key->width > 1 ? "wide" : spyi_needs_coordinates(&s) ? "strided" : "flat";
        spyi_text_add(&out->text, "// %s\n// %s, %u dimension%s, %u element%s a thread, %u threads a group, %s%s\nimport %s;\n\n",
                      bound->signature.display, shape, key->rank, key->rank == 1 ? "" : "s", key->width * key->unroll,
                      key->width * key->unroll == 1 ? "" : "s", out->group_size, key->bindings ? "structured buffers" : "pointers",
                      key->index64 ? ", 64-bit offsets" : "", spyi_unit_name(function->module->unit));
        if (out->block_size) spyi_text_add(&out->text, "struct SpyBlock\n{\n%s};\n", spyi_text_str(&s.fields));
        // A global block is read field by field; an entry-point parameter would first be copied whole.
        if (out->block_size && !out->block_by_address)
            spyi_text_add(&out->text, "[[vk::push_constant]] ConstantBuffer<SpyBlock> spy;\n");
        spyi_text_add(&out->text, "\n[shader(\"compute\")]\n[numthreads(%u, 1, 1)]\nvoid %s(uint3 spy_thread : SV_DispatchThreadID",
                      out->group_size, SPYI_KERNEL_ENTRY);
        if (out->block_size && out->block_by_address) spyi_text_add(&out->text, ",\n                uniform SpyBlock* spy");
        spyi_text_add(&out->text, "%s)\n{\n", spyi_text_str(&s.buffers));
        spyi_text_add(&out->text, "%s}\n", spyi_text_str(&s.body));
    }
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        if (s.names) free(s.names[i]);
        if (s.lvalues) free(s.lvalues[i]);
    }
    free(s.names);
    free(s.lvalues);
    free(s.fresh);
    spyi_text_free(&s.fields);
    spyi_text_free(&s.buffers);
    spyi_text_free(&s.body);
    if (!s.failed) return SPY_OK;
    spyi_emitted_free(out);
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN void spyi_emitted_free(spyi_emitted *emitted) {
    spyi_text_free(&emitted->text);
    free(emitted->packs);
    memset(emitted, 0, sizeof *emitted);
}
