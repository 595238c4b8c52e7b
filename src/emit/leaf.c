// The code of one leaf in a kernel: its value for the current element as an expression or a variable, and its
// loads and stores. The prologue says where the current element lies.
#include "emit/internal.h"

// Writes the expression of a field of variable `parent`, or of an array element of it.
SPYI_FN void spyi_spell_field(const char *parent, const spyi_node *field, spyi_text *out) {
    spyi_text_add(out, "%s%s%s", parent, field->name[0] == '[' ? "" : ".", field->name);
}

// Writes the type as it is declared in memory. Scalars and vectors of bool are integers there.
SPYI_FN void spyi_spell_memory(const spyi_emit_state *s, const spyi_type *type, spyi_text *out) {
    bool bare = type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR;
    if (!bare || type->scalar != SPY_DTYPE_BOOL) spyi_text_add(out, "%s", spyi_spell(type));
    else if (type->kind == SPYI_TYPE_SCALAR) spyi_text_add(out, "%s", s->rules->boolean);
    else spyi_text_add(out, "%s%u", s->rules->boolean, type->columns);
}

static bool spyi_bare_bool(const spyi_type *type) {
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) &&
           type->scalar == SPY_DTYPE_BOOL;
}

// Writes `expression`, of memory type `from`, as a value of type `to`.
SPYI_FN void spyi_spell_load(const spyi_type *from, const spyi_type *to, const char *expression,
                             spyi_text *out) {
    if (spyi_bare_bool(from) && spyi_bare_bool(to)) spyi_text_add(out, "%s != 0", expression);
    else if (spyi_bare_bool(from)) spyi_text_add(out, "%s(%s != 0)", spyi_spell(to), expression);
    else if (from == to) spyi_text_add(out, "%s", expression);
    else spyi_text_add(out, "%s(%s)", spyi_spell(to), expression);
}

// Writes `expression`, whose scalars have type `from`, as it is stored in memory type `to`.
SPYI_FN void spyi_spell_store(const spyi_emit_state *s, spy_dtype from, const spyi_type *to,
                              const char *expression, spyi_text *out) {
    bool plain = to->kind == SPYI_TYPE_SCALAR || to->kind == SPYI_TYPE_VECTOR;
    if (!spyi_bare_bool(to) && (!plain || from == to->scalar)) {
        spyi_text_add(out, "%s", expression);
    } else if (spyi_bare_bool(to) && from != SPY_DTYPE_BOOL) { // 0.5 is true, but the byte of 0.5 would be 0
        spyi_spell_memory(s, to, out);
        spyi_text_add(out, "(%s(%s))", spyi_spell(to), expression);
    } else {
        spyi_spell_memory(s, to, out);
        spyi_text_add(out, "(%s)", expression);
    }
}

// Returns the type of a leaf's scalars, as the function sees them.
SPYI_FN spy_dtype spyi_leaf_dtype(const spyi_leaf *leaf) {
    const spyi_type *type = leaf->type;
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    return type->scalar;
}

// Writes the current element's value of a leaf that is not in memory, or, if `store` is a variable, the
// statement that stores it.
static void spyi_block_value(const spyi_emit_state *s, uint32_t i, const char *store, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text field = { NULL, 0, 0 }, element = { NULL, 0, 0 }, binding = { NULL, 0, 0 };
    spyi_place_text at;
    uint32_t group[SPY_MAX_RANK];
    bool grouped = s->key->grouped && s->prologue == spyi_compute_prologue();
    bool resource = spyi_leaf_is_resource(leaf);
    const char *prefix = !leaf->binds || (resource && leaf->field_size) ? "spyi_block."
                         : spyi_leaf_is_whole(leaf) || resource         ? "b_"
                                                                        : SPYI_HOLDER_PREFIX;
    if (spyi_is_split_field(s, i)) {
        spyi_text_add(&field, "%s(", spyi_spell(leaf->element));
        for (uint32_t c = 0; c < leaf->element->columns; c++)
            spyi_text_add(&field, "%s%s%s[%u]", c ? ", " : "", prefix, s->names[i], c);
        spyi_text_add(&field, ")");
    } else {
        spyi_text_add(&field, "%s%s", prefix, s->names[i]);
    }
    if (resource) spyi_text_add(&binding, "b_%s", s->names[i]);
    s->prologue->number(s, &element);
    at.field = spyi_text_str(&field);
    at.binding = spyi_text_str(&binding);
    at.element = spyi_text_str(&element);
    at.thread = grouped && spyi_given_group(s->bound, group) ? "int(spy_l)" : spyi_text_str(&element);
    at.shape = "spyi_block._shape";
    at.coordinate =
        grouped && !s->key->index64 ? "spy_c" : NULL; // in 64 bits the coordinates take more time than the
                                                      // division
    at.rank = s->bound->rank;
    if (store) leaf->kind->build->store(leaf, &at, store, out);
    else leaf->kind->build->load(leaf, &at, out);
    spyi_text_free(&field);
    spyi_text_free(&binding);
    spyi_text_free(&element);
}

// >>places

// Writes where leaf `i`'s current element lies: "spyi_block.x[...]". For a wide leaf it is where the thread's
// access number `access` lies.
SPYI_FN void spyi_place(const spyi_emit_state *s, uint32_t i, uint32_t access, const char *inner, bool store,
                        spyi_text *out) {
    spyi_text index = { NULL, 0, 0 };
    const char *plus = "";
    spyi_text_add(out, s->key->bindings ? "b_%s[" : "spyi_block.%s[", s->names[i]);
    if (spyi_has_base(s, i)) {
        spyi_text_add(out, "spyi_block.%s__base", s->names[i]);
        plus = " + ";
    }
    s->prologue->index(s, i, access, store, &index);
    if (index.size) {
        spyi_text_add(out, "%s%s", plus, spyi_text_str(&index));
        plus = " + ";
    }
    if (inner[0]) spyi_text_add(out, "%s%s", plus, inner);
    else if (!plus[0]) spyi_text_add(out, "0");
    spyi_text_add(out, "]");
    spyi_text_free(&index);
}

// >>loads and stores

// Returns whether the leaf is moved 16 bytes at a time (slang/mlp_matrix.slang): an array for a network. Slang's own
// copies move one scalar at a time.
static bool spyi_is_row(const spyi_emit_state *s, uint32_t i) {
    const spyi_type *type = s->bound->leaves[i].type;
    return spyi_fills_warps(s) && type->kind == SPYI_TYPE_ARRAY && spyi_memory_type(s, i) == type &&
           spyi_type_device_stride(type) % 16 == 0;
}

// Returns whether the leaf is an array of floats for a network that lie in memory as halves.
static bool spyi_is_half_row(const spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *type = leaf->type, *element = leaf->element;
    return spyi_fills_warps(s) && spyi_gathers(s, i) && type->kind == SPYI_TYPE_ARRAY &&
           leaf->consumed == 1 && type->element->kind == SPYI_TYPE_SCALAR &&
           type->element->scalar == SPY_DTYPE_FLOAT32 && element->kind == SPYI_TYPE_SCALAR &&
           element->scalar == SPY_DTYPE_FLOAT16;
}

// Loads or stores one value of leaf `i` between memory and the variable `value`. Gathered leaves are moved
// component by component.
static void spyi_move_value(spyi_emit_state *s, uint32_t i, const char *value, bool store,
                            const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 }, part = { NULL, 0, 0 }, inner = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    const spyi_type *memory = spyi_memory_type(s, i);
    const spyi_type *type = leaf->type;
    spyi_text_add(&part, "%s", value);
    spyi_text_add(&line, "%s", indent);
    bool halves = !store && spyi_is_half_row(s, i);
    if (spyi_gathers(s, i) && !halves) {
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
        // the text is "spyi_block.x[" index "]"
        const char *whole = spyi_text_str(&place), *index = strchr(whole, '[');
        index = index ? index + 1 : whole; // whole is "" when out of memory
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
    } else if (halves) {
        spyi_text_add(&line, "%s = spyi_load_halves<%lld>(&%s, int(spyi_block.%s__inner0))",
                      spyi_text_str(&part), (long long)leaf->consumed_dims[0], spyi_text_str(&place),
                      s->names[i]);
    } else if (spyi_is_row(s, i)) {
        if (store)
            spyi_text_add(&line, "spyi_store_row(&%s, %s)", spyi_text_str(&place), spyi_text_str(&part));
        else {
            if (s->fresh[i]) spyi_text_add(&line, "%s ", spyi_spell(leaf->type));
            spyi_text_add(&line, "%s = spyi_load_row(&%s)", spyi_text_str(&part), spyi_text_str(&place));
        }
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

SPYI_FN void spyi_load_hoisted(spyi_emit_state *s, uint32_t i) {
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "v_%s", s->names[i]);
    s->fresh[i] = !spyi_gathers(s, i);
    if (!s->fresh[i])
        spyi_text_add(&s->body, "    %s %s;\n", spyi_spell(s->bound->leaves[i].type), spyi_text_str(&name));
    spyi_move_value(s, i, spyi_text_str(&name), false, "    ");
    s->fresh[i] = false;
    spyi_text_free(&name);
}

SPYI_FN bool spyi_leaf_expression(const spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    if (leaf->out) return false;
    if (!spyi_leaf_in_memory(leaf)) spyi_block_value(s, i, NULL, out);
    else if (spyi_is_hoisted(s, i)) spyi_text_add(out, "v_%s", s->names[i]);
    else if (spyi_is_turned(s, i)) spyi_turned_value(s, i, out);
    else if (spyi_is_wide(s, i)) spyi_wide_value(s, i, out);
    else return false;
    return true;
}

SPYI_FN void spyi_emit_leaf_load(spyi_emit_state *s, uint32_t i, const char *indent) {
    spyi_text value = { NULL, 0, 0 };
    const spyi_leaf *leaf = &s->bound->leaves[i];
    if (leaf->out && spyi_is_turned(s, i)) spyi_turned_value(s, i, &value); // an inout leaf needs both
    else if (leaf->out && spyi_is_wide(s, i)) spyi_wide_value(s, i, &value);
    else if (leaf->out && !spyi_leaf_in_memory(leaf)) spyi_block_value(s, i, NULL, &value);
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
    if (!spyi_leaf_in_memory(&s->bound->leaves[i])) {
        spyi_text_add(&s->body, "%s", indent);
        spyi_block_value(s, i, s->lvalues[i], &s->body);
        spyi_text_add(&s->body, ";\n");
    } else if (spyi_is_turned(s, i)) spyi_turned_store(s, i, indent);
    else if (spyi_is_wide(s, i)) spyi_wide_store(s, i, indent);
    else spyi_move_value(s, i, s->lvalues[i], true, indent);
}

// >>variables

// Gives the leaf's variable for the current element its name: "a_x_1".
SPYI_FN void spyi_name_variable(spyi_emit_state *s, uint32_t i, const char *prefix) {
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "%s%s%s", prefix, s->names[i], s->suffix);
    free(s->lvalues[i]);
    s->lvalues[i] = spyi_strdup(spyi_text_str(&name));
    spyi_text_free(&name);
}

// Names and declares the leaf's variable. With `loads` it also loads the leaf's value.
SPYI_FN void spyi_make_variable(spyi_emit_state *s, uint32_t i, const char *prefix, bool loads,
                                const char *indent) {
    spyi_name_variable(s, i, prefix);
    s->fresh[i] = loads && !spyi_gathers(s, i);
    if (!s->fresh[i])
        spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(s->bound->leaves[i].type), s->lvalues[i]);
    if (loads) spyi_emit_leaf_load(s, i, indent);
    s->fresh[i] = false;
}

// Writes the leaf's value for the current element.
SPYI_FN void spyi_value_expression(spyi_emit_state *s, uint32_t i, spyi_text *out) {
    if (spyi_leaf_expression(s, i, out)) return;
    spyi_make_variable(s, i, "a_", true, "    ");
    spyi_text_add(out, "%s", s->lvalues[i]);
}
