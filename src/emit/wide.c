// The vectors of wide variants, by which a thread of the compute prologue loads and stores several
// neighbouring elements at once. A leaf is loaded as vectors of SPYI_LANES scalars. Each element takes its
// scalars from them and puts them back, and the vectors are stored at the end. If the last thread has fewer
// elements, it stores them one by one. Vectors of small scalars are moved as 32-bit words, up to four at a
// time: NVIDIA's Vulkan driver moves the scalars of a half4 one by one (docs/measurements.md, "Small scalars
// on Vulkan").
#include "emit/internal.h"

// Writes a wide leaf's vector type.
SPYI_FN void spyi_spell_vector(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    spyi_spell_memory(s, spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar), out);
    spyi_text_add(out, "%u", SPYI_LANES);
}

// Writes the name of a wide leaf's vector: "w_x__1", or "w_x" if it has only one; "w_x_0__1" if the thread has
// units.
static void spyi_vector_name(const spyi_emit_state *s, uint32_t i, uint32_t vector, spyi_text *out) {
    spyi_text_add(out, "w_%s%s", s->names[i], s->unit);
    if (spyi_vectors(s, i) > 1) spyi_text_add(out, "__%u", vector);
}

// Writes the vector with the element of number spy_i of a wide leaf of scalars, which is a structured buffer of words.
static void spyi_vector_of_words(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    uint32_t packed = spyi_packed(s, i), each = spyi_words(s, i) / packed, elements = packed * SPYI_LANES;
    const char *x = s->names[i];
    spyi_text_add(out, "bit_cast<");
    spyi_spell_vector(s, i, out);
    if (packed == 1) spyi_text_add(out, ">(b_%s[spy_i / %u])", x, elements);
    else if (each == 1)
        spyi_text_add(out, ">(b_%s[spy_i / %u][spy_i / %u %% %u])", x, elements, SPYI_LANES, packed);
    else
        spyi_text_add(out, ">(spy_i %% %u < %u ? b_%s[spy_i / %u].xy : b_%s[spy_i / %u].zw)", elements,
                      SPYI_LANES, x, elements, x, elements);
}

// Writes the element of number spy_i of a wide leaf of scalars.
static void spyi_scalar_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    if (s->key->bindings) {
        spyi_text_add(out, "spyi_component(");
        if (spyi_words(s, i)) spyi_vector_of_words(s, i, out);
        else spyi_text_add(out, "b_%s[spy_i / %u]", s->names[i], SPYI_LANES);
        spyi_text_add(out, ", spy_i %% %u)", SPYI_LANES);
        return;
    }
    spyi_text_add(out, "((");
    spyi_spell_memory(s, spyi_type_scalar(s->types, spyi_memory_type(s, i)->scalar), out);
    spyi_text_add(out, "*)spyi_block.%s)[spy_i]", s->names[i]);
}

// Writes component `c` of the current element in the vectors of a wide leaf: "w_x__1.z".
SPYI_FN void spyi_component(const spyi_emit_state *s, uint32_t i, uint32_t c, spyi_text *out) {
    uint32_t at = s->element * spyi_memory_type(s, i)->columns + c;
    if (s->tail) {
        spyi_scalar_value(s, i, out);
        return;
    }
    spyi_vector_name(s, i, at / SPYI_LANES, out);
    spyi_text_add(out, ".%c", "xyzw"[at % SPYI_LANES]);
}

SPYI_FN void spyi_wide_value(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
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

SPYI_FN void spyi_wide_store(spyi_emit_state *s, uint32_t i, const char *indent) {
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

SPYI_FN void spyi_spell_words(uint32_t words, spyi_text *out) {
    spyi_text_add(out, words > 1 ? "uint%u" : "uint", words);
}

// Loads words, and divides them into their vectors.
static void spyi_load_words(spyi_emit_state *s, uint32_t i, uint32_t access, const char *type) {
    uint32_t packed = spyi_packed(s, i), words = spyi_words(s, i), each = words / packed;
    spyi_text place = { NULL, 0, 0 };
    spyi_place(s, i, access, "", false, &place);
    spyi_text_add(&s->body, "    ");
    spyi_spell_words(words, &s->body);
    spyi_text_add(&s->body, " q_%s%s__%u = %s;\n", s->names[i], s->unit, access, spyi_text_str(&place));
    for (uint32_t k = 0; k < packed; k++) {
        spyi_text name = { NULL, 0, 0 };
        spyi_vector_name(s, i, access * packed + k, &name);
        spyi_text_add(&s->body, "    %s %s = bit_cast<%s>(q_%s%s__%u%s%.*s);\n", type, spyi_text_str(&name),
                      type, s->names[i], s->unit, access, packed > 1 ? "." : "", packed > 1 ? (int)each : 0,
                      &"xyzw"[k * each]);
        spyi_text_free(&name);
    }
    spyi_text_free(&place);
}

SPYI_FN void spyi_load_vectors(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    uint32_t n = spyi_vectors(s, i), packed = spyi_packed(s, i);
    bool words = spyi_words(s, i) != 0;
    spyi_text type = { NULL, 0, 0 };
    spyi_spell_vector(s, i, &type);
    for (uint32_t v = 0; v < n; v++) {
        spyi_text name = { NULL, 0, 0 }, place = { NULL, 0, 0 };
        if (leaf->in && words) {
            if (v % packed == 0) spyi_load_words(s, i, v / packed, spyi_text_str(&type));
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

// Writes the stores of the last thread, which stores its elements one by one: memory behind the end must not
// change.
static void spyi_store_tail(spyi_emit_state *s, uint32_t i) {
    uint32_t n = spyi_memory_type(s, i)->columns;
    bool words = spyi_words(s, i) != 0;
    for (uint32_t k = 0; k + 1 < s->key->width; k++) {
        for (uint32_t c = 0; c < n; c++) {
            spyi_text place = { NULL, 0, 0 }, value = { NULL, 0, 0 };
            uint32_t at = k * n + c;
            s->element = k;
            spyi_text_add(&s->body, "        ");
            if (k) spyi_text_add(&s->body, "if (spy_valid > %u) ", k);
            spyi_component(s, i, c, &value);
            if (spyi_has_scalars(s, i)) {
                spyi_text_add(&place, "t_%s[spy_i + %u]", s->names[i], k);
            } else if (words) {
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

// Writes the value that one access of a wide leaf stores.
static void spyi_stored(const spyi_emit_state *s, uint32_t i, uint32_t access, spyi_text *out) {
    uint32_t packed = spyi_packed(s, i), words = spyi_words(s, i);
    if (!words) {
        spyi_vector_name(s, i, access, out);
        return;
    }
    if (packed > 1) {
        spyi_spell_words(words, out);
        spyi_text_add(out, "(");
    }
    for (uint32_t k = 0; k < packed; k++) {
        spyi_text_add(out, k ? ", bit_cast<" : "bit_cast<");
        spyi_spell_words(words / packed, out);
        spyi_text_add(out, ">(");
        spyi_vector_name(s, i, access * packed + k, out);
        spyi_text_add(out, ")");
    }
    if (packed > 1) spyi_text_add(out, ")");
}

SPYI_FN void spyi_store_access(spyi_emit_state *s, uint32_t i, uint32_t access, const char *indent) {
    spyi_text place = { NULL, 0, 0 }, value = { NULL, 0, 0 };
    spyi_place(s, i, access, "", true, &place);
    spyi_stored(s, i, access, &value);
    spyi_text_add(&s->body, "%s%s = %s;\n", indent, spyi_text_str(&place), spyi_text_str(&value));
    spyi_text_free(&place);
    spyi_text_free(&value);
}

SPYI_FN void spyi_store_vectors(spyi_emit_state *s) {
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
            for (uint32_t v = 0; v < n; v++) spyi_store_access(s, i, v, tail ? "        " : "    ");
        }
    }
    if (tail) spyi_text_add(&s->body, "    }\n");
}
