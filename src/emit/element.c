// The element function, spyi_element: what is computed for one element of the call. Its parameters are the call's leaves, so that
// each of them takes part in a derivative or not. Its body makes the arguments of the graph's calls of the leaves, makes the calls
// one after another, and takes apart what comes back. It knows neither threads nor memory: those are the prologue's.
#include "emit/internal.h"

// >>its parameters

SPYI_FN bool spyi_is_dropped(const spyi_leaf *leaf) {
    return (leaf->traits & SPYI_TRAIT_UNUSED) && !leaf->grads[SPYI_GRAD_IN];
}

SPYI_FN bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf) {
    if (b->mode == SPY_CALL_FORWARD_DIFF)
        return leaf->param_out ? leaf->differential != NULL : leaf->grads[SPYI_GRAD_IN] != 0;
    return leaf->grads[SPYI_GRAD_IN] || leaf->grads[SPYI_GRAD_OUT];
}

SPYI_FN bool spyi_comes_back(const spyi_bound *b, const spyi_leaf *leaf) {
    return leaf->param_out && (b->mode == SPY_CALL_FORWARD_DIFF || spyi_is_active(b, leaf));
}

SPYI_FN bool spyi_is_parameter(const spyi_bound *b, const spyi_leaf *leaf) {
    return leaf->role == SPYI_ROLE_VALUE && !spyi_is_dropped(leaf) &&
           (leaf->param_in || spyi_comes_back(b, leaf));
}

static void spyi_element_parameters(const spyi_emit_state *s, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const char *comma = "";
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool back = spyi_comes_back(b, leaf);
        if (!spyi_is_parameter(b, leaf)) continue;
        spyi_text_add(out, "%s%s%s v_%s", comma,
                      back && leaf->param_in    ? "inout "
                      : back                    ? "out "
                      : spyi_is_active(b, leaf) ? ""
                                                : "no_diff ",
                      leaf->kind_type ? leaf->kind_type : spyi_spell(leaf->type), s->names[i]);
        comma = ", ";
    }
}

// >>arguments of the calls

// Fills the argument `to` before the calls, or hands its outputs on after them.
static void spyi_argument_fields(const spyi_emit_state *s, uint32_t node_index, const char *to, bool before,
                                spyi_text *out) {
    const spyi_node *node = &s->bound->nodes[node_index];
    if (node->leaf >= 0) {
        const spyi_leaf *leaf = &s->bound->leaves[node->leaf];
        if (before && leaf->param_in) spyi_text_add(out, "    %s = v_%s;\n", to, s->names[node->leaf]);
        if (!before && spyi_comes_back(s->bound, leaf))
            spyi_text_add(out, "    v_%s = %s;\n", s->names[node->leaf], to);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *child = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 }, part = { NULL, 0, 0 };
        spyi_spell_field(to, child, &field);
        if (before && child->leaf < 0 &&
            child->in) { // Slang 2026.12 asserts at constants for fields of fields
            const char *name = child->name[0] == '[' ? child->name + 1 : child->name; // an element's number
            spyi_text_add(&part, "%s_%.*s", to, (int)strcspn(name, "]"), name);
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

// Whether an argument or the result needs a variable of its own; else it is one of the function's parameters.
static bool spyi_needs_local(const spyi_bound *b, const spyi_node *node) {
    if (node->leaf < 0) return true;
    const spyi_leaf *leaf = &b->leaves[node->leaf];
    return leaf->param_out && !spyi_comes_back(b, leaf);
}

static void spyi_spell_top(const spyi_emit_state *s, uint32_t p, spyi_text *out) {
    const spyi_node *node = &s->bound->nodes[p];
    if (spyi_needs_local(s->bound, node)) spyi_text_add(out, "a_%s", node->name);
    else spyi_text_add(out, "v_%s", s->names[node->leaf]);
}

// >>calls

// The function's parameters and variables begin with these; a function that is called so would be hidden by them.
static bool spyi_is_hidden(const spyi_graph_call *call) {
    const char *name = call->spelling;
    bool letter = name[0] == 'a' || name[0] == 'b' || name[0] == 'r' || name[0] == 'v' || name[0] == 'w';
    return call->callee == SPYI_CALLEE_FUNCTION &&
           ((letter && name[1] == '_') || strncmp(name, "spy", 3) == 0);
}

SPYI_FN void spyi_spell_called(const spyi_graph *graph, uint32_t c, spyi_text *out) {
    if (!spyi_is_hidden(&graph->calls[c])) spyi_text_add(out, "%s", graph->calls[c].spelling);
    else if (c) spyi_text_add(out, "spyi_called_%u", c);
    else spyi_text_add(out, "spyi_called");
}

// For a hidden function: one of a harmless name that calls it, in a scope where none of our names are.
static void spyi_emit_called(const spyi_emit_state *s, const spyi_graph *graph, uint32_t c, spyi_text *out) {
    const spyi_graph_call *call = &graph->calls[c];
    bool returns = call->result->kind != SPYI_TYPE_VOID;
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

// Whether a later call takes what call `c` returns.
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

static void spyi_element_call(const spyi_emit_state *s, const spyi_graph *graph, uint32_t c, spyi_text *out) {
    const spyi_graph_call *call = &graph->calls[c];
    uint32_t first = 0;
    spyi_text_add(out, "    ");
    if (spyi_gives_result(s, graph, c)) {
        spyi_spell_top(s, s->bound->param_count, out);
        spyi_text_add(out, " = ");
    } else if (spyi_is_used(graph, c)) {
        spyi_text_add(out, "%s r_%u = ", spyi_spell(call->result), c);
    }
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
    spyi_text_add(out, ");\n");
}

SPYI_FN void spyi_emit_hidden(const spyi_emit_state *s, const spyi_graph *graph, spyi_text *out) {
    for (uint32_t c = 0; c < graph->call_count; c++)
        if (spyi_is_hidden(&graph->calls[c])) spyi_emit_called(s, graph, c, out);
}

SPYI_FN void spyi_emit_element(const spyi_emit_state *s, const spyi_graph *graph, spyi_text *out) {
    const spyi_bound *b = s->bound;
    uint32_t tops = b->param_count + (b->has_result ? 1u : 0u);
    spyi_text_add(out, "[Differentiable]\nvoid spyi_element(");
    spyi_element_parameters(s, out);
    spyi_text_add(out, ")\n{\n");
    for (uint32_t p = 0; p < tops; p++) {
        spyi_text name = { NULL, 0, 0 };
        if (!spyi_needs_local(b, &b->nodes[p])) continue;
        spyi_spell_top(s, p, &name);
        spyi_text_add(out, "    %s %s;\n", spyi_spell(b->nodes[p].type), spyi_text_str(&name));
        if (p < b->param_count) spyi_argument_fields(s, p, spyi_text_str(&name), true, out);
        spyi_text_free(&name);
    }
    for (uint32_t c = 0; c < graph->call_count; c++) spyi_element_call(s, graph, c, out);
    for (uint32_t p = 0; p < tops; p++) {
        spyi_text name = { NULL, 0, 0 };
        if (!spyi_needs_local(b, &b->nodes[p])) continue;
        spyi_spell_top(s, p, &name);
        spyi_argument_fields(s, p, spyi_text_str(&name), false, out);
        spyi_text_free(&name);
    }
    spyi_text_add(out, "}\n\n");
}
