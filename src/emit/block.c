// Declares the parameter block of a kernel: its fields, the operations that pack them, and what is passed
// beside the block (structured buffers, and ConstantBuffers of kinds).
#include "emit/internal.h"

static void spyi_add_pack(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, uint32_t offset) {
    spyi_emitted *e = s->out;
    if (e->pack_count == s->pack_capacity) {
        uint32_t capacity = s->pack_capacity ? s->pack_capacity * 2 : 32;
        spyi_pack *packs = (spyi_pack *)spyi_realloc(e->packs, capacity * sizeof *packs);
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

SPYI_FN void spyi_add_field(spyi_emit_state *s, spyi_pack_op op, uint32_t dim, uint32_t leaf, size_t size,
                            size_t align, const char *format, ...) {
    char line[2048]; // a type's name can have 1,000 characters
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

// Makes the names of leaves in block and buffers from their paths, so that none is one of the library's own
// names ("_count", "x__stride0").
SPYI_FN void spyi_make_names(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count && !s->failed; i++) {
        spyi_text name = { NULL, 0, 0 };
        if (b->leaves[i].path[0] == '_' && strncmp(b->leaves[i].path, "_result", 7) != 0)
            spyi_text_add(&name, "p");
        // `this` is a keyword of Slang
        if (strcmp(b->leaves[i].path, "this") == 0) spyi_text_add(&name, "instance_");
        for (const char *c = b->leaves[i].path; *c; c++) {
            char put = *c == '.' || *c == '[' || *c == ']' ? '_' : *c;
            if (put != '_' || !name.size || name.data[name.size - 1] != '_') spyi_text_add_n(&name, &put, 1);
        }
        for (uint32_t j = 0; j < i; j++) { // "a.b" and "a_b" would give one name
            if (strcmp(s->names[j], spyi_text_str(&name)) != 0) continue;
            spyi_text_add(&name, "__n%u", i);
            break;
        }
        s->names[i] = name.data;
        s->failed = !name.data;
    }
}

static void spyi_declare_leaf(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *memory = spyi_memory_type(s, i);
    spyi_text type = { NULL, 0, 0 };
    if (spyi_is_wide(s, i)) { // the element's type does not matter: wide leaves are vectors of scalars
        if (spyi_words(s, i)) spyi_spell_words(spyi_words(s, i), &type);
        else spyi_spell_vector(s, i, &type);
        // pieces.c says why the memory is declared as uint
    } else if ((s->key->walk[i] & SPYI_WALK_ATOMIC) && spyi_combine_name(s->bound)) {
        spyi_text_add(&type, "uint");
        if (memory->columns > 1) spyi_text_add(&type, "%u", memory->columns);
    } else {
        spyi_spell_memory(s, spyi_is_split(s, i) ? memory->element : memory, &type);
    }
    if (!s->key->bindings) {
        spyi_add_field(s, SPYI_PACK_ADDRESS, 0, i, 8, 8, "%s* %s", spyi_text_str(&type), s->names[i]);
    } else {
        spyi_text_add(&s->buffers, ",\n                uniform %sStructuredBuffer<%s> b_%s",
                      leaf->out ? "RW" : "", spyi_text_str(&type), s->names[i]);
        s->out->bindings[s->out->binding_count++] = (uint16_t)i;
    }
    if (spyi_has_scalars(s, i)) {
        spyi_text_add(&s->buffers, ",\n                uniform RWStructuredBuffer<");
        spyi_spell_memory(s, spyi_type_scalar(s->types, memory->scalar), &s->buffers);
        spyi_text_add(&s->buffers, "> t_%s", s->names[i]);
        s->out->bindings[s->out->binding_count++] = (uint16_t)i;
    }
    spyi_text_free(&type);
}

SPYI_FN void spyi_add_numbers(spyi_emit_state *s, spyi_pack_op op, const char *name) {
    spyi_add_field(s, op, 0, 0, 4, 4, "uint %s[3]", name);
    for (uint32_t d = 1; d < 3; d++, s->out->block_size += 4) spyi_add_pack(s, op, d, 0, s->out->block_size);
}

SPYI_FN void spyi_declare_shape(spyi_emit_state *s) {
    uint32_t rank = s->bound->rank;
    spyi_add_field(s, SPYI_PACK_SHAPE, 0, 0, 4, 4, "int _shape[%u]", rank ? rank : 1);
    for (uint32_t d = 1; d < rank; d++, s->out->block_size += 4)
        spyi_add_pack(s, SPYI_PACK_SHAPE, d, 0, s->out->block_size);
}

SPYI_FN spyi_pack_op spyi_pack_op_of(const spyi_leaf *leaf) {
    return (spyi_pack_op)(SPYI_PACK_SCALAR + leaf->kind->run->field_op);
}

// Declares a leaf that is not in memory, as a field of the block or as a binding beside it.
static void spyi_declare_field(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text type = { NULL, 0, 0 };
    if (!leaf->field_size && !leaf->binds) return;
    leaf->kind->build->field(leaf, &type);
    if (leaf->binds && (spyi_leaf_is_whole(leaf) || spyi_leaf_is_resource(leaf))) {
        uint32_t number;
        const char *format = leaf->format ? spyi_format_layout(leaf->format, &number) : NULL;
        spyi_text_add(&s->buffers, ",\n                ");
        if (format) spyi_text_add(&s->buffers, "[format(\"%s\")] ", format);
        spyi_text_add(&s->buffers, "uniform %s b_%s", spyi_text_str(&type), s->names[i]);
        s->out->bindings[s->out->binding_count++] = (uint16_t)i;
        if (leaf->field_size) // a texture that the call runs over has a field, for its steps
            spyi_add_field(s, spyi_pack_op_of(leaf), 0, i, leaf->field_size, 4, "int %s[%u]", s->names[i],
                           leaf->field_size / 4);
        spyi_text_free(&type);
        return;
    }
    if (leaf->binds) {
        spyi_text_add(&s->holders, "%s " SPYI_HOLDER_PREFIX "%s;\n", spyi_text_str(&type), s->names[i]);
        s->out->holders[s->out->holder_count++] = (uint16_t)i;
        spyi_text_free(&type);
        return;
    }
    size_t size = leaf->field_size;
    if (s->rules->pads_structs) size = spyi_align(size, leaf->field_align);
    if (spyi_is_split_field(s, i))
        spyi_add_field(s, spyi_pack_op_of(leaf), 0, i, size, leaf->field_align, "%s %s[%u]",
                       spyi_spell(leaf->element->element), s->names[i], leaf->element->columns);
    else
        spyi_add_field(s, spyi_pack_op_of(leaf), 0, i, size, leaf->field_align, "%s %s", spyi_text_str(&type),
                       s->names[i]);
    spyi_text_free(&type);
}

SPYI_FN void spyi_declare_block(spyi_emit_state *s) {
    const spyi_bound *b = s->bound;
    const spyi_variant_key *key = s->key;
    const char *index = key->index64 ? "int64_t" : "int";
    size_t index_size = key->index64 ? 8 : 4;
    for (uint32_t i = 0; i < b->leaf_count; i++) // addresses come first: they are aligned to 8 bytes
        if (spyi_leaf_in_memory(&b->leaves[i]) && !spyi_is_skipped(s, i)) spyi_declare_leaf(s, i);
    if (s->out->prints) spyi_add_field(s, SPYI_PACK_PRINT, 0, 0, 8, 8, "uint64_t _print");
    s->prologue->fields(s);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const char *name = s->names[i];
        if (spyi_is_skipped(s, i)) continue;
        if (!spyi_leaf_in_memory(leaf)) {
            spyi_declare_field(s, i);
            continue;
        }
        if (spyi_has_base(s, i))
            spyi_add_field(s, SPYI_PACK_BASE, 0, i, index_size, index_size, "%s %s__base",
                           key->index64 ? index : "uint", name);
        for (uint32_t d = 0; d < key->rank; d++)
            if (spyi_has_stride(s, i, d))
                spyi_add_field(s, SPYI_PACK_STRIDE, d, i, index_size, index_size, "%s %s__stride%u", index,
                               name, d);
        for (uint32_t d = 0; d < leaf->consumed && spyi_gathers(s, i); d++)
            spyi_add_field(s, SPYI_PACK_INNER, d, i, index_size, index_size, "%s %s__inner%u", index, name,
                           d);
    }
    if (s->out->block_size) // the size that the compiler gives the struct, in whole words of 4 bytes
        s->out->block_size = (uint32_t)spyi_align(spyi_align(s->out->block_size, s->block_align), 4);
}
