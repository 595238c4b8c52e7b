// One leaf in a kernel: where its elements lie, and how they are loaded and stored.
#include "emit/internal.h"

// A field of the variable `parent`, or an element of an array.
SPYI_FN void spyi_spell_field(const char *parent, const spyi_node *field, spyi_text *out) {
    spyi_text_add(out, "%s%s%s", parent, field->name[0] == '[' ? "" : ".", field->name);
}

// As a type is declared in memory: bare bools are integers there.
SPYI_FN void spyi_spell_memory(const spyi_emit_state *s, const spyi_type *type, spyi_text *out) {
    bool bare = type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR;
    if (!bare || type->scalar != SPY_BOOL) spyi_text_add(out, "%s", spyi_spell(type));
    else if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "%s", s->rules->boolean);
    else spyi_text_add(out, "%s%u", s->rules->boolean, type->columns);
}

static bool spyi_bare_bool(const spyi_type *type) {
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) && type->scalar == SPY_BOOL;
}

// `expression` of memory type `from` as a value of type `to`.
static void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression,
                            spyi_text *out) {
    if (spyi_bare_bool(from) && spyi_bare_bool(to)) spyi_text_add(out, "%s != 0", expression);
    else if (spyi_bare_bool(from)) spyi_text_add(out, "%s(%s != 0)", spyi_spell(to), expression);
    else if (from == to) spyi_text_add(out, "%s", expression);
    else spyi_text_add(out, "%s(%s)", spyi_spell(to), expression);
}

// A value of a type with scalars of `from` as it is stored in memory type `to`.
static void spyi_spell_store(const spyi_emit_state *s, spy_dtype from, const spyi_type *to,
                             const char *expression, spyi_text *out) {
    bool plain = to->kind == SPYI_TYPE_SCALAR || to->kind == SPYI_TYPE_VECTOR;
    if (!spyi_bare_bool(to) && (!plain || from == to->scalar)) {
        spyi_text_add(out, "%s", expression);
    } else {
        spyi_spell_memory(s, to, out);
        spyi_text_add(out, "(%s)", expression);
    }
}

// The type of a leaf's scalars, as the function has them.
static spy_dtype spyi_leaf_dtype(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

// A wide leaf's vector type.
SPYI_FN void spyi_spell_vector(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    spyi_spell_memory(s, spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar), out);
    spyi_text_add(out, "%u", SPYI_LANES);
}

// "w_x__1", its vectors.
static void spyi_vector_name(const spyi_emit_state *s, uint32_t i, uint32_t vector, spyi_text *out) {
    spyi_text_add(out, "w_%s", s->names[i]);
    if (spyi_vectors(s, i) > 1) spyi_text_add(out, "__%u", vector);
}

// The current element of a leaf that is not in memory.
static void spyi_block_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text field = { NULL, 0, 0 }, element = { NULL, 0, 0 };
    spyi_place_text at;
    const char *prefix = !leaf->binds ? "spyi_block." : spyi_leaf_is_whole(leaf) ? "b_" : SPYI_HOLDER_PREFIX;
    if (spyi_is_split_field(s, i)) {
        spyi_text_add(&field, "%s(", spyi_spell(leaf->element));
        for (uint32_t c = 0; c < leaf->element->columns; c++)
            spyi_text_add(&field, "%s%s%s[%u]", c ? ", " : "", prefix, s->names[i], c);
        spyi_text_add(&field, ")");
    } else {
        spyi_text_add(&field, "%s%s", prefix, s->names[i]);
    }
    spyi_element_text(s, &element);
    at.field = spyi_text_str(&field);
    at.element = spyi_text_str(&element);
    at.shape = "spyi_block._shape";
    at.rank = s->bound->rank;
    leaf->kind->build->load(leaf, &at, out);
    spyi_text_free(&field);
    spyi_text_free(&element);
}

// >>places

// Where leaf `i`'s current element lies: "spyi_block.x[...]". Wide leaves: access number `vector` of the thread's.
SPYI_FN void spyi_place(const spyi_emit_state *s, uint32_t i, uint32_t vector, const char *inner, bool store,
                        spyi_text *out) {
    const spyi_variant_key *key = s->key;
    const char *name = s->names[i];
    uint32_t walk = spyi_walk_of(s, i);
    bool wide = spyi_is_wide(s, i);
    const char *plus = "";
    spyi_text_add(out, key->bindings ? "b_%s[" : "spyi_block.%s[", name);
    if (spyi_has_base(s, i)) {
        spyi_text_add(out, "spyi_block.%s__base", name);
        plus = " + ";
    }
    if (wide) {
        uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i);
        if (walk == SPYI_WALK_LINEAR) spyi_text_add(out, "spy_vector");
        else spyi_text_add(out, "%s_at", name);
        if (n > 1) spyi_text_add(out, " * %u", n);
        if (vector) spyi_text_add(out, " + %u", vector);
        plus = " + ";
    } else if (walk == SPYI_WALK_LINEAR) {
        // Of several elements all are loaded, so that the loads are under way together; the last one stands
        // in for those behind the end.
        const char *form = s->suffix[0] && !store ? "min(spy_i%s, spy_last)" : "spy_i%s";
        spyi_text_add(out, "%s", plus);
        spyi_text_add(out, form, s->suffix);
        plus = " + ";
    } else if (walk != SPYI_WALK_UNIFORM) {
        spyi_text_add(out, "%s%s_at%s", plus, name, spyi_own_suffix(s));
        plus = " + ";
        if (walk == SPYI_WALK_STRIDED && key->width > 1 && !key->crosses && s->element) {
            spyi_text_add(out, spyi_has_tail(s) ? " + int(min(%uu, spy_valid - 1))" : " + %u", s->element);
            spyi_text_add(out, " * spyi_block.%s__stride%u", name, key->rank - 1u);
        }
    }
    if (inner[0]) spyi_text_add(out, "%s%s", plus, inner);
    else if (!plus[0]) spyi_text_add(out, "0");
    spyi_text_add(out, "]");
}

// >>loads and stores

// Component `c` of the current element in the vectors of a wide leaf: "w_x__1.z".
static void spyi_component(const spyi_emit_state *s, uint32_t i, uint32_t c, spyi_text *out) {
    uint32_t at = s->element * spyi_memory_type(s, i)->columns + c;
    spyi_vector_name(s, i, at / SPYI_LANES, out);
    spyi_text_add(out, ".%c", "xyzw"[at % SPYI_LANES]);
}

static void spyi_wide_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_type *memory = spyi_memory_type(s, i);
    uint32_t n = memory->columns;
    spyi_text value = { NULL, 0, 0 };
    if (n > 1) {
        spyi_spell_memory(s, memory, &value);
        spyi_text_add(&value, "(");
    }
    for (uint32_t c = 0; c < n; c++) {
        if (c) spyi_text_add(&value, ", ");
        spyi_component(s, i, c, &value);
    }
    if (n > 1) spyi_text_add(&value, ")");
    if (n == 1) memory = spyi_type_scalar(s->types, memory->scalar); // vectors of enums hold their integers
    spyi_spell_load(memory, s->bound->leaves[i].type, spyi_text_str(&value), out);
    spyi_text_free(&value);
}

static void spyi_wide_store(spyi_emit_state *s, uint32_t i, const char *indent) {
    const spyi_type *memory = spyi_memory_type(s, i);
    const spyi_type *scalar = spyi_type_scalar(s->types, memory->scalar);
    for (uint32_t c = 0; c < memory->columns; c++) {
        spyi_text from = { NULL, 0, 0 }, line = { NULL, 0, 0 };
        spyi_text_add(&from, "%s", s->lvalues[i]);
        if (memory->columns > 1) spyi_text_add(&from, ".%c", "xyzw"[c]);
        spyi_text_add(&line, "%s", indent);
        spyi_component(s, i, c, &line);
        spyi_text_add(&line, " = ");
        spyi_spell_store(s, spyi_leaf_dtype(&s->bound->leaves[i]), scalar, spyi_text_str(&from), &line);
        spyi_text_add(&s->body, "%s;\n", spyi_text_str(&line));
        spyi_text_free(&from);
        spyi_text_free(&line);
    }
}

// Loads or stores one value of leaf `i` between memory and the variable `value`; gathered ones piece by piece.
static void spyi_move_value(spyi_emit_state *s, uint32_t i, const char *value, bool store,
                            const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 }, part = { NULL, 0, 0 }, inner = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    const spyi_type *memory = spyi_memory_type(s, i);
    const spyi_type *type = leaf->type;
    spyi_text_add(&part, "%s", value);
    spyi_text_add(&line, "%s", indent);
    if (spyi_gathers(s, i)) {
        int64_t pieces = 1;
        for (uint32_t d = 0; d < leaf->consumed; d++) pieces *= leaf->consumed_dims[d];
        for (uint32_t d = 0; d < leaf->consumed; d++) {
            spyi_text_add(&line, "%sfor (int spy_%u = 0; spy_%u < %lld; ++spy_%u) ",
                          pieces <= 16 ? "[ForceUnroll] " : "", d, d, (long long)leaf->consumed_dims[d], d);
            spyi_text_add(&part, "[spy_%u]", d);
            spyi_text_add(&inner, "%sspy_%u * spyi_block.%s__inner%u", d ? " + " : "", d, s->names[i], d);
            type = type->element ? type->element : type;
        }
    }
    spyi_place(s, i, 0, spyi_text_str(&inner), store, &place);
    if (spyi_is_split(s, i)) {
        const char *whole = spyi_text_str(&place), *index = strchr(whole, '['); // "spyi_block.x[" index "]"
        index = index ? index + 1 : whole;                                      // out of memory
        int before = (int)(index - whole), length = (int)place.size - before - 1;
        spyi_text value_text = { NULL, 0, 0 };
        if (!store) spyi_text_add(&value_text, "%s(", spyi_spell(memory));
        else spyi_text_add(&line, "{ ");
        for (uint32_t c = 0; c < memory->columns; c++) {
            spyi_text *to = store ? &line : &value_text;
            spyi_text_add(to, "%s%.*s(%.*s) * %u + %u]", c && !store ? ", " : "", before, whole, length,
                          index, memory->columns, c);
            if (store)
                spyi_text_add(to, " = %s(%s.%c); ", spyi_spell(memory->element), spyi_text_str(&part),
                              "xyzw"[c]);
        }
        if (store) {
            spyi_text_add(&line, "}");
        } else {
            spyi_text_add(&value_text, ")");
            if (s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
            spyi_text_add(&line, "%s = ", spyi_text_str(&part));
            spyi_spell_load(memory, type, spyi_text_str(&value_text), &line);
        }
        spyi_text_free(&value_text);
    } else if (store) {
        spyi_text_add(&line, "%s = ", spyi_text_str(&place));
        spyi_spell_store(s, spyi_leaf_dtype(leaf), memory, spyi_text_str(&part), &line);
    } else {
        if (s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
        spyi_text_add(&line, "%s = ", spyi_text_str(&part));
        spyi_spell_load(memory, type, spyi_text_str(&place), &line);
    }
    spyi_text_add(&s->body, "%s;\n", spyi_text_str(&line));
    spyi_text_free(&place);
    spyi_text_free(&part);
    spyi_text_free(&inner);
    spyi_text_free(&line);
}

// The vectors of one access of 16 bytes.
static void spyi_load_packed(spyi_emit_state *s, uint32_t i, uint32_t access, const char *type) {
    uint32_t packed = spyi_packed(s, i);
    spyi_text place = { NULL, 0, 0 };
    spyi_place(s, i, access, "", false, &place);
    spyi_text_add(&s->body, "    uint4 q_%s__%u = %s;\n", s->names[i], access, spyi_text_str(&place));
    for (uint32_t k = 0; k < packed; k++) {
        spyi_text name = { NULL, 0, 0 };
        spyi_vector_name(s, i, access * packed + k, &name);
        spyi_text_add(&s->body, "    %s %s = bit_cast<%s>(q_%s__%u.%.*s);\n", type, spyi_text_str(&name),
                      type, s->names[i], access, (int)(4 / packed), &"xyzw"[k * 4 / packed]);
        spyi_text_free(&name);
    }
    spyi_text_free(&place);
}

static void spyi_load_vectors(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    uint32_t n = spyi_vectors(s, i), packed = spyi_packed(s, i);
    spyi_text type = { NULL, 0, 0 };
    spyi_spell_vector(s, i, &type);
    for (uint32_t v = 0; v < n; v++) {
        spyi_text name = { NULL, 0, 0 }, place = { NULL, 0, 0 };
        if (leaf->in && packed > 1) {
            if (v % packed == 0) spyi_load_packed(s, i, v / packed, type.data);
            continue;
        }
        spyi_vector_name(s, i, v, &name);
        spyi_place(s, i, v, "", false, &place);
        if (leaf->in)
            spyi_text_add(&s->body, "    %s %s = %s;\n", spyi_text_str(&type), spyi_text_str(&name),
                          spyi_text_str(&place));
        else spyi_text_add(&s->body, "    %s %s;\n", spyi_text_str(&type), spyi_text_str(&name));
        spyi_text_free(&name);
        spyi_text_free(&place);
    }
    spyi_text_free(&type);
}

SPYI_FN void spyi_emit_thread_loads(spyi_emit_state *s) {
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        const spyi_leaf *leaf = &s->bound->leaves[i];
        if (!spyi_leaf_in_memory(leaf) || spyi_is_skipped(s, i)) continue;
        if (spyi_is_wide(s, i)) {
            spyi_load_vectors(s, i);
        } else if (spyi_is_hoisted(s, i)) {
            spyi_text name = { NULL, 0, 0 };
            spyi_text_add(&name, "v_%s", s->names[i]);
            s->fresh[i] = !spyi_gathers(s, i);
            if (!s->fresh[i])
                spyi_text_add(&s->body, "    %s %s;\n", spyi_spell(leaf->type), spyi_text_str(&name));
            spyi_move_value(s, i, spyi_text_str(&name), false, "    ");
            s->fresh[i] = false;
            spyi_text_free(&name);
        }
    }
}

// What lies behind the end is not ours: the last thread stores its valid elements one by one.
static void spyi_store_tail(spyi_emit_state *s, uint32_t i) {
    uint32_t n = spyi_memory_type(s, i)->columns;
    bool packed = spyi_packed(s, i) > 1;
    for (uint32_t k = 0; k + 1 < s->key->width; k++) {
        for (uint32_t c = 0; c < n; c++) {
            spyi_text place = { NULL, 0, 0 }, value = { NULL, 0, 0 };
            uint32_t at = k * n + c;
            s->element = k;
            spyi_text_add(&s->body, "        ");
            if (k) spyi_text_add(&s->body, "if (spy_valid > %u) ", k);
            spyi_component(s, i, c, &value);
            if (packed) {
                spyi_text_add(&place, "((");
                spyi_spell_memory(s, spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar), &place);
                spyi_text_add(&place, "*)spyi_block.%s)[spy_i + %u]", s->names[i], k);
            } else {
                spyi_place(s, i, at / SPYI_LANES, "", true, &place);
                spyi_text_add(&place, ".%c", "xyzw"[at % SPYI_LANES]);
            }
            spyi_text_add(&s->body, "%s = %s;\n", spyi_text_str(&place), spyi_text_str(&value));
            spyi_text_free(&place);
            spyi_text_free(&value);
        }
    }
    s->element = 0;
}

// One access of a wide leaf, as a value.
static void spyi_stored(const spyi_emit_state *s, uint32_t i, uint32_t access, spyi_text *out) {
    uint32_t packed = spyi_packed(s, i);
    if (packed == 1) {
        spyi_vector_name(s, i, access, out);
        return;
    }
    spyi_text_add(out, "uint4(");
    for (uint32_t k = 0; k < packed; k++) {
        spyi_text_add(out, "%sbit_cast<%s>(", k ? ", " : "", packed == 2 ? "uint2" : "uint");
        spyi_vector_name(s, i, access * packed + k, out);
        spyi_text_add(out, ")");
    }
    spyi_text_add(out, ")");
}

SPYI_FN void spyi_emit_thread_stores(spyi_emit_state *s) {
    bool tail = spyi_has_tail(s);
    if (s->key->width == 1) return;
    if (tail) spyi_text_add(&s->body, "    if (spy_valid == %u) {\n", s->key->width);
    for (int part = 0; part < (tail ? 2 : 1); part++) {
        if (part) spyi_text_add(&s->body, "    } else {\n");
        for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
            const spyi_leaf *leaf = &s->bound->leaves[i];
            if (!leaf->out || !spyi_leaf_in_memory(leaf) || !spyi_is_wide(s, i)) continue;
            if (part) {
                spyi_store_tail(s, i);
                continue;
            }
            uint32_t n = spyi_vectors(s, i) / spyi_packed(s, i);
            for (uint32_t v = 0; v < n; v++) {
                spyi_text place = { NULL, 0, 0 }, value = { NULL, 0, 0 };
                spyi_place(s, i, v, "", true, &place);
                spyi_stored(s, i, v, &value);
                spyi_text_add(&s->body, "%s%s = %s;\n", tail ? "        " : "    ", spyi_text_str(&place),
                              spyi_text_str(&value));
                spyi_text_free(&place);
                spyi_text_free(&value);
            }
        }
    }
    if (tail) spyi_text_add(&s->body, "    }\n");
}

SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    if (leaf->out) return false;
    if (!spyi_leaf_in_memory(leaf)) spyi_block_value(s, i, out);
    else if (spyi_is_hoisted(s, i)) spyi_text_add(out, "v_%s", s->names[i]);
    else if (spyi_is_wide(s, i)) spyi_wide_value(s, i, out);
    else return false;
    return true;
}

SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t i, const char *indent) {
    spyi_text value = { NULL, 0, 0 };
    if (s->bound->leaves[i].out && spyi_is_wide(s, i)) spyi_wide_value(s, i, &value); // inout
    else if (!spyi_leaf_expression(s, i, &value)) {
        spyi_move_value(s, i, s->lvalues[i], false, indent);
        return;
    }
    const char *type = s->fresh[i] ? spyi_spell(s->bound->leaves[i].type) : "";
    spyi_text_add(&s->body, "%s%s%s%s = %s;\n", indent, type, type[0] ? " " : "", s->lvalues[i],
                  spyi_text_str(&value));
    spyi_text_free(&value);
}

SPYI_FN void spyi_emit_leaf_store(spyi_emit_state *s, uint32_t i, const char *indent) {
    if (spyi_is_wide(s, i)) spyi_wide_store(s, i, indent);
    else spyi_move_value(s, i, s->lvalues[i], true, indent);
}
