// Writes the element function, spyi_element, which computes one element of the call. Each leaf is a parameter
// of its own, so that each can take part in a derivative or not. Outputs are `out` parameters, but a result
// that is one leaf is returned if no derivative is computed. The body makes structs and pairs from the
// leaves, makes the graph's calls one after another, and takes the outputs apart. It knows neither threads
// nor memory, which belong to the prologue.
#include "data/type_name.h"
#include "emit/internal.h"

// >>its parameters

SPYI_FN bool spyi_is_dropped(const spyi_leaf *leaf) {
    return (leaf->traits & SPYI_TRAIT_UNUSED) && !leaf->grads[SPYI_GRAD_IN];
}

SPYI_FN bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf) {
    if (b->mode == SPY_CALL_MODE_FORWARD_DIFF)
        return leaf->param_out ? leaf->differential != NULL : leaf->grads[SPYI_GRAD_IN] != 0;
    return leaf->grads[SPYI_GRAD_IN] || leaf->grads[SPYI_GRAD_OUT];
}

static bool spyi_goes_in(const spyi_bound *b, const spyi_leaf *leaf) {
    return b->mode ? leaf->param_in : leaf->in;
}

SPYI_FN bool spyi_comes_back(const spyi_bound *b, const spyi_leaf *leaf) {
    if (!b->mode) return leaf->out;
    return leaf->param_out && (b->mode == SPY_CALL_MODE_FORWARD_DIFF || spyi_is_active(b, leaf));
}

SPYI_FN const spyi_leaf *spyi_returned_leaf(const spyi_bound *b) {
    int32_t leaf = b->mode || !b->has_result ? -1 : b->nodes[b->param_count].leaf;
    return leaf < 0 ? NULL : &b->leaves[leaf];
}

SPYI_FN bool spyi_is_parameter(const spyi_bound *b, const spyi_leaf *leaf) {
    return leaf->role == SPYI_ROLE_VALUE && !spyi_is_dropped(leaf) && leaf != spyi_returned_leaf(b) &&
           (spyi_goes_in(b, leaf) || spyi_comes_back(b, leaf));
}

static const char *spyi_spell_leaf(const spyi_leaf *leaf) {
    return leaf->kind_type ? leaf->kind_type : spyi_spell(leaf->type);
}

static void spyi_element_parameters(const spyi_emit_state *s, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const char *comma = "";
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool in = spyi_goes_in(b, leaf), back = spyi_comes_back(b, leaf);
        if (!spyi_is_parameter(b, leaf)) continue;
        if (b->combine) {
            bool pair = in && spyi_is_active(b, leaf);
            spyi_text_add(out, pair ? "%sinout DifferentialPair<%s> v_%s" : "%s%s v_%s", comma,
                          spyi_spell_leaf(leaf), s->names[i]);
            comma = ", ";
            continue;
        }
        spyi_text_add(out, "%s%s%s v_%s", comma,
                      back && in                            ? "inout "
                      : back                                ? "out "
                      : !b->mode || spyi_is_active(b, leaf) ? ""
                                                            : "no_diff ",
                      spyi_spell_leaf(leaf), s->names[i]);
        comma = ", ";
    }
}

// >>arguments of the calls

// Returns whether a leaf holds an address, as a number, from which a pointer of type `type` is made.
static bool spyi_is_address(const spyi_leaf *leaf, const spyi_type *type) {
    return spyi_type_is_pointer(type) && leaf->type->kind == SPYI_TYPE_SCALAR;
}

// Writes a pointer's type as Slang's compiler takes it. Its reflection says "Ptr<T, ...>".
static void spyi_spell_pointer(const spyi_type *type, spyi_text *out) {
    spyi_type_parts parts;
    spyi_split_type(type->name, &parts);
    spyi_text_add(out, "%s*", parts.arguments[0] ? parts.arguments[0] : "");
    spyi_free_parts(&parts);
}

static void spyi_argument_fields(const spyi_emit_state *s, uint32_t node_index, const char *to, bool before,
                                 spyi_text *out);

// Writes the name of a variable for part of the argument `of`: "a_light__color". The two underscores tell it
// from the variable of a parameter light_color.
static void spyi_spell_part(const char *of, const char *part, spyi_text *out) {
    spyi_text_add(out, "%s__%s", of, part);
    for (char *c = out->data; c && *c; c++)
        if (*c == '.' || *c == '[' || *c == ']') *c = '_';
}

// Makes a DifferentialPair from its two parts. With `top` the pair is also declared.
static void spyi_argument_pair(const spyi_emit_state *s, const spyi_node *node, const char *to, bool top,
                               spyi_text *out) {
    spyi_text parts = { NULL, 0, 0 };
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *child = &s->bound->nodes[node->first + i];
        if (i) spyi_text_add(&parts, ", ");
        if (child->leaf >= 0) {
            spyi_text_add(&parts, "v_%s", s->names[child->leaf]);
            continue;
        }
        spyi_text part = { NULL, 0, 0 };
        spyi_spell_part(to, child->name, &part);
        spyi_text_add(out, "    %s %s;\n", spyi_spell(child->type), spyi_text_str(&part));
        spyi_argument_fields(s, node->first + i, spyi_text_str(&part), true, out);
        spyi_text_add(&parts, "%s", spyi_text_str(&part));
        spyi_text_free(&part);
    }
    spyi_text_add(out, "    %s%s%s = diffPair(%s);\n", top ? spyi_spell(node->type) : "", top ? " " : "", to,
                  spyi_text_str(&parts));
    spyi_text_free(&parts);
}

// Sets a value of the type to zero. Buffers and other objects stay as they are. A struct may have constructors,
// which `= {}` would call, so its fields are set one by one.
static void spyi_set_to_zero(const spyi_type *type, const char *to, uint32_t depth, spyi_text *out) {
    const spyi_type *inner = type;
    while (inner->kind == SPYI_TYPE_ARRAY) inner = inner->element;
    if (inner->kind == SPYI_TYPE_OTHER && !spyi_type_is_pointer(inner) && !spyi_type_is_handle(inner)) return;
    if (inner->kind != SPYI_TYPE_STRUCT) {
        spyi_text_add(out, "    %s = {};\n", to);
        return;
    }
    spyi_text part = { NULL, 0, 0 };
    if (type->kind == SPYI_TYPE_ARRAY) {
        spyi_text_add(out, "    for (int spyi_%u = 0; spyi_%u < %llu; spyi_%u++) {\n", depth, depth,
                      (unsigned long long)type->count, depth);
        spyi_text_add(&part, "%s[spyi_%u]", to, depth);
        spyi_set_to_zero(type->element, spyi_text_str(&part), depth + 1, out);
        spyi_text_add(out, "    }\n");
    }
    for (uint32_t f = 0; type->kind == SPYI_TYPE_STRUCT && f < type->field_count; f++) {
        spyi_text_clear(&part);
        spyi_text_add(&part, "%s.%s", to, type->fields[f].name);
        spyi_set_to_zero(type->fields[f].type, spyi_text_str(&part), depth, out);
    }
    spyi_text_free(&part);
}

// Sets the fields that are not given to zero.
static void spyi_missing_fields(const spyi_emit_state *s, const spyi_node *node, const char *to,
                                spyi_text *out) {
    const spyi_type *type = node->type;
    for (uint32_t f = 0; f < type->field_count; f++) {
        uint32_t i = 0;
        while (i < node->count && strcmp(s->bound->nodes[node->first + i].name, type->fields[f].name) != 0)
            i++;
        if (i < node->count) continue;
        spyi_text part = { NULL, 0, 0 };
        // Inner structs get their own variable (spyi_argument_fields()).
        bool apart = s->bound->mode && type->fields[f].type->kind == SPYI_TYPE_STRUCT;
        if (apart) {
            spyi_spell_part(to, type->fields[f].name, &part);
            spyi_text_add(out, "    %s %s;\n", spyi_spell(type->fields[f].type), spyi_text_str(&part));
            spyi_set_to_zero(type->fields[f].type, spyi_text_str(&part), 0, out);
            spyi_text_add(out, "    %s.%s = %s;\n", to, type->fields[f].name, spyi_text_str(&part));
        } else {
            spyi_text_add(&part, "%s.%s", to, type->fields[f].name);
            spyi_set_to_zero(type->fields[f].type, spyi_text_str(&part), 0, out);
        }
        spyi_text_free(&part);
    }
}

// Fills the argument `to` before the calls, or hands its outputs on after them.
static void spyi_argument_fields(const spyi_emit_state *s, uint32_t node_index, const char *to, bool before,
                                 spyi_text *out) {
    const spyi_node *node = &s->bound->nodes[node_index];
    if (node->leaf >= 0) {
        const spyi_leaf *leaf = &s->bound->leaves[node->leaf];
        if (before && spyi_goes_in(s->bound, leaf)) {
            spyi_text_add(out, "    %s = ", to);
            if (spyi_is_address(leaf, node->type)) {
                spyi_text_add(out, "(");
                spyi_spell_pointer(node->type, out);
                spyi_text_add(out, ")");
            }
            spyi_text_add(out, "v_%s;\n", s->names[node->leaf]);
        }
        if (!before && spyi_comes_back(s->bound, leaf))
            spyi_text_add(
                out, spyi_is_address(leaf, node->type) ? "    v_%s = uint64_t(%s);\n" : "    v_%s = %s;\n",
                s->names[node->leaf], to);
        return;
    }
    if (before && spyi_type_is_pair(node->type)) {
        if (node->in) spyi_argument_pair(s, node, to, false, out);
        return;
    }
    bool filled = node->type->kind == SPYI_TYPE_STRUCT || node->type->from_tensor;
    if (before && node->in && filled && node->count < node->type->field_count)
        spyi_missing_fields(s, node, to, out);
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *child = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 }, part = { NULL, 0, 0 };
        spyi_spell_field(to, child, &field);
        // Slang 2026.12 asserts in derivatives if a field of a field is set to a constant, so inner structs
        // get their own variable.
        bool apart = before && s->bound->mode && child->leaf < 0 && child->in;
        if (apart) {
            spyi_spell_part(to, child->name, &part);
            spyi_text_add(out, "    %s %s;\n", spyi_spell(child->type), spyi_text_str(&part));
            spyi_argument_fields(s, node->first + i, spyi_text_str(&part), true, out);
            spyi_text_add(out, "    %s = %s;\n", spyi_text_str(&field), spyi_text_str(&part));
        } else {
            spyi_argument_fields(s, node->first + i, spyi_text_str(&field), before, out);
        }
        spyi_text_free(&field);
        spyi_text_free(&part);
    }
}

// Returns whether an argument or the result needs its own variable. Otherwise it is a parameter of the
// element function.
static bool spyi_needs_local(const spyi_bound *b, const spyi_node *node) {
    if (node->leaf < 0) return true;
    const spyi_leaf *leaf = &b->leaves[node->leaf];
    return spyi_is_address(leaf, node->type) || (b->mode && leaf->param_out && !spyi_comes_back(b, leaf));
}

static void spyi_spell_top(const spyi_emit_state *s, uint32_t p, spyi_text *out) {
    const spyi_node *node = &s->bound->nodes[p];
    if (p == s->bound->param_count && spyi_returned_leaf(s->bound)) spyi_text_add(out, "r%s", node->name);
    else if (spyi_needs_local(s->bound, node)) spyi_text_add(out, "a_%s", node->name);
    else spyi_text_add(out, "v_%s", s->names[node->leaf]);
}

// >>calls

// Returns whether the called function is hidden: names of the element function's parameters and variables
// begin with "a_", "r_" or "v_", too.
static bool spyi_is_hidden(const spyi_graph_call *call) {
    const char *name = call->spelling;
    bool letter = name[0] == 'a' || name[0] == 'r' || name[0] == 'v';
    return call->callee == SPYI_CALLEE_FUNCTION && letter && name[1] == '_';
}

static void spyi_spell_called(const spyi_graph *graph, uint32_t c, spyi_text *out) {
    if (!spyi_is_hidden(&graph->calls[c])) spyi_text_add(out, "%s", graph->calls[c].spelling);
    else if (c) spyi_text_add(out, "spyi_called_%u", c);
    else spyi_text_add(out, "spyi_called");
}

// Writes the function that gives the elements of a reduction under another name, as spyi_emit_called() does
// for a hidden function.
static void spyi_emit_called_total(const spyi_emit_state *s, const spyi_graph_call *call, spyi_text *out) {
    spyi_text_add(out, "void spyi_called_bwd(");
    for (uint32_t o = 0; o < call->operand_count; o++) {
        const spyi_node *node = &s->bound->nodes[call->operands[o].index];
        bool pair = node->leaf >= 0 && spyi_is_active(s->bound, &s->bound->leaves[node->leaf]);
        spyi_text_add(out, pair ? "inout DifferentialPair<%s> p%u, " : "%s p%u, ", spyi_spell(node->type), o);
    }
    spyi_text_add(out, "float one)\n{\n    %s_bwd(", call->spelling);
    for (uint32_t o = 0; o < call->operand_count; o++) spyi_text_add(out, "p%u, ", o);
    spyi_text_add(out, "one);\n}\n\n");
}

// Writes, for a hidden function, a function of another name that calls it outside of the element function.
static void spyi_emit_called(const spyi_emit_state *s, const spyi_graph *graph, uint32_t c, spyi_text *out) {
    const spyi_graph_call *call = &graph->calls[c];
    bool returns = call->result->kind != SPYI_TYPE_VOID;
    if (s->bound->combine) {
        spyi_emit_called_total(s, call, out);
        return;
    }
    if (s->bound->mode) spyi_text_add(out, "[Differentiable]\n");
    spyi_text_add(out, "%s ", returns ? spyi_spell(call->result) : "void");
    spyi_spell_called(graph, c, out);
    spyi_text_add(out, "(");
    for (uint32_t o = 0; o < call->operand_count; o++) {
        const spyi_operand *operand = &call->operands[o];
        const spyi_node *node = operand->is_result ? NULL : &s->bound->nodes[operand->index];
        const spyi_type *type = node ? node->type : graph->calls[operand->index].result;
        spyi_text_add(out, "%s%s%s p%u", o ? ", " : "",
                      !node || !node->out ? ""
                      : node->in          ? "inout "
                                          : "out ",
                      spyi_spell(type), o);
    }
    spyi_text_add(out, ")\n{\n    %s%s(", returns ? "return " : "", call->spelling);
    for (uint32_t o = 0; o < call->operand_count; o++) spyi_text_add(out, o ? ", p%u" : "p%u", o);
    spyi_text_add(out, ");\n}\n\n");
}

// Returns whether a later call takes the result of call `c`.
static bool spyi_is_used(const spyi_graph *graph, uint32_t c) {
    for (uint32_t i = c + 1; i < graph->call_count; i++)
        for (uint32_t o = 0; o < graph->calls[i].operand_count; o++)
            if (graph->calls[i].operands[o].is_result && graph->calls[i].operands[o].index == c) return true;
    return false;
}

static bool spyi_gives_result(const spyi_emit_state *s, const spyi_graph *graph, uint32_t c) {
    return s->bound->has_result && graph->result == c;
}

static void spyi_spell_operand(const spyi_emit_state *s, const spyi_graph *graph, const spyi_operand *operand,
                               spyi_text *out) {
    if (!operand->is_result) spyi_spell_top(s, operand->index, out);
    else if (spyi_gives_result(s, graph, operand->index)) spyi_spell_top(s, s->bound->param_count, out);
    else spyi_text_add(out, "r_%u", operand->index);
}

// Writes call `c`. With `ends` it is the last statement, so that its result can be returned at once.
static void spyi_element_call(const spyi_emit_state *s, const spyi_graph *graph, uint32_t c, bool ends,
                              spyi_text *out) {
    const spyi_leaf *returned = spyi_returned_leaf(s->bound);
    const spyi_graph_call *call = &graph->calls[c];
    uint32_t first = 0;
    spyi_text_add(out, "    ");
    if (s->bound->combine) { // the derivative of a reduction, which src/fuse has written
        spyi_spell_called(graph, c, out);
        spyi_text_add(out, "_bwd(");
        for (uint32_t o = 0; o < call->operand_count; o++) {
            spyi_spell_operand(s, graph, &call->operands[o], out);
            spyi_text_add(out, ", ");
        }
        spyi_spell_top(s, s->bound->param_count, out);
        spyi_text_add(out, ");\n");
        return;
    }
    if (returned && ends && spyi_gives_result(s, graph, c)) {
        spyi_text_add(out, "return ");
    } else if (spyi_gives_result(s, graph, c)) {
        if (returned) spyi_text_add(out, "%s ", spyi_spell_leaf(returned));
        spyi_spell_top(s, s->bound->param_count, out);
        spyi_text_add(out, " = ");
    } else if (spyi_is_used(graph, c)) {
        spyi_text_add(out, "%s r_%u = ", spyi_spell(call->result), c);
    }
    bool address = returned && spyi_gives_result(s, graph, c) && spyi_type_is_pointer(call->result);
    if (address) spyi_text_add(out, "%s(", spyi_spell(returned->type));
    if (call->callee == SPYI_CALLEE_METHOD) {
        spyi_spell_operand(s, graph, &call->operands[first++], out);
        spyi_text_add(out, ".");
    }
    spyi_spell_called(graph, c, out);
    spyi_text_add(out, "(");
    for (uint32_t o = first; o < call->operand_count; o++) {
        if (o > first) spyi_text_add(out, ", ");
        spyi_spell_operand(s, graph, &call->operands[o], out);
    }
    spyi_text_add(out, address ? "));\n" : ");\n");
}

SPYI_FN void spyi_emit_element(const spyi_emit_state *s, const spyi_graph *graph, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const spyi_leaf *returned = spyi_returned_leaf(b);
    uint32_t tops = b->param_count + (b->has_result && !returned ? 1u : 0u);
    spyi_text outputs = { NULL, 0, 0 }; // statements that hand outputs on after the calls
    for (uint32_t c = 0; c < graph->call_count; c++)
        if (spyi_is_hidden(&graph->calls[c])) spyi_emit_called(s, graph, c, out);
    spyi_text_add(out, "%s\n%s spyi_element(", b->mode && !b->combine ? "[Differentiable]" : "[ForceInline]",
                  returned ? spyi_spell_leaf(returned) : "void");
    spyi_element_parameters(s, out);
    spyi_text_add(out, ")\n{\n");
    for (uint32_t p = 0; p < tops; p++) {
        const spyi_node *node = &b->nodes[p];
        spyi_text name = { NULL, 0, 0 };
        if (!spyi_needs_local(b, node)) continue;
        spyi_spell_top(s, p, &name);
        if (spyi_type_is_pair(node->type) && node->in) {
            spyi_argument_pair(s, node, spyi_text_str(&name), true, out);
        } else {
            spyi_text_add(out, "    ");
            if (spyi_type_is_pointer(node->type)) spyi_spell_pointer(node->type, out);
            else spyi_text_add(out, "%s", spyi_spell(node->type));
            spyi_text_add(out, " %s;\n", spyi_text_str(&name));
            if (p < b->param_count) spyi_argument_fields(s, p, spyi_text_str(&name), true, out);
        }
        spyi_argument_fields(s, p, spyi_text_str(&name), false, &outputs);
        spyi_text_free(&name);
    }
    for (uint32_t c = 0; c < graph->call_count; c++)
        spyi_element_call(s, graph, c, c + 1 == graph->call_count && !outputs.size, out);
    spyi_text_add(out, "%s", spyi_text_str(&outputs));
    if (returned && (outputs.size || graph->result + 1 < graph->call_count)) {
        spyi_text_add(out, "    return ");
        spyi_spell_top(s, b->param_count, out);
        spyi_text_add(out, ";\n");
    }
    spyi_text_add(out, "}\n\n");
    spyi_text_free(&outputs);
}
