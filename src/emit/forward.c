// One element of a call: the variables of its arguments, their loads, the call itself, and the stores of its outputs.
// gradient.c is the same for calls that compute gradients.
#include "emit/internal.h"

// >>variables

// The variable of a part of a DifferentialPair: "p" or "d". The pair's number in the node list makes it the only one.
static void spyi_spell_part(const spyi_emit_state *s, uint32_t pair_index, const spyi_node *part,
                            spyi_text *out) {
    spyi_text_add(out, "spyi_pair_%u_%s%s", pair_index, part->name, s->suffix);
}

// The expression for a field of `parent`: a member, or a variable of its own when the parent is a DifferentialPair.
static void spyi_spell_child(const spyi_emit_state *s, uint32_t parent_index, const char *parent,
                             uint32_t child, spyi_text *out) {
    const spyi_node *nodes = s->bound->nodes;
    if (spyi_type_is_pair(nodes[parent_index].type)) spyi_spell_part(s, parent_index, &nodes[child], out);
    else spyi_spell_field(parent, &nodes[child], out);
}

// Gives each leaf below a parameter the name of its variable. `declares`: declares the variables of the parts of pairs,
// and with `top` the parameter's own, unless their loads or spyi_emit_pairs() do.
static void spyi_emit_variables(spyi_emit_state *s, uint32_t node_index, const char *lvalue, bool top,
                                bool declares, const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    bool pair = spyi_type_is_pair(node->type); // made of its parts, which are variables of their own
    if (top && declares && node->leaf >= 0 && node->in && !spyi_gathers(s, (uint32_t)node->leaf))
        s->fresh[node->leaf] = true;
    else if (top && declares && !pair)
        spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(node->type), lvalue);
    if (node->leaf >= 0) {
        free(s->lvalues[node->leaf]);
        s->lvalues[node->leaf] = spyi_strdup(lvalue);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, lvalue, node->first + i, &field);
        spyi_emit_variables(s, node->first + i, spyi_text_str(&field), pair, declares, indent);
        spyi_text_free(&field);
    }
}

// The DifferentialPairs of a parameter that goes in are made of their parts, inner ones first. `top`: a variable of its
// own, which is declared here if it is a pair.
static void spyi_emit_pairs(spyi_emit_state *s, uint32_t node_index, const char *name, bool top) {
    const spyi_node *node = &s->bound->nodes[node_index];
    bool pair = spyi_type_is_pair(node->type);
    for (uint32_t i = 0; i < node->count; i++) {
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, name, node->first + i, &field);
        spyi_emit_pairs(s, node->first + i, spyi_text_str(&field), pair);
        spyi_text_free(&field);
    }
    if (!pair || !(top || node->in)) return;
    spyi_text_add(&s->body, "    %s%s%s", top ? spyi_spell(node->type) : "", top ? " " : "", name);
    for (uint32_t i = 0; i < node->count && node->in; i++) {
        spyi_text_add(&s->body, i ? ", " : " = diffPair(");
        spyi_spell_part(s, node_index, &s->bound->nodes[node->first + i], &s->body);
    }
    spyi_text_add(&s->body, node->in ? ");\n" : ";\n");
}

// Those of a parameter that comes back are taken apart. `declares`: the variables of the parts are declared, too.
static void spyi_emit_parts(spyi_emit_state *s, uint32_t node_index, const char *name, bool declares,
                            const char *indent) {
    const spyi_node *node = &s->bound->nodes[node_index];
    for (uint32_t i = 0; i < node->count; i++) {
        const spyi_node *part = &s->bound->nodes[node->first + i];
        spyi_text field = { NULL, 0, 0 };
        spyi_spell_child(s, node_index, name, node->first + i, &field);
        if (spyi_type_is_pair(node->type))
            spyi_text_add(&s->body, "%s%s%s%s = %s.%s;\n", indent, declares ? spyi_spell(part->type) : "",
                          declares ? " " : "", spyi_text_str(&field), name, part->name);
        spyi_emit_parts(s, node->first + i, spyi_text_str(&field), declares, indent);
        spyi_text_free(&field);
    }
}

// >>the call

// The arguments of the call for the current element; declares variables for those that need one and loads them.
static void spyi_forward_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count; p++) {
        const spyi_node *node = &b->nodes[p];
        bool instance =
            p == 0 && b->signature.callee == SPYI_CALLEE_METHOD; // stands before the method's name
        if (arguments->size) spyi_text_add(arguments, ", ");
        if (!instance && node->leaf >= 0 && spyi_leaf_expression(s, (uint32_t)node->leaf, arguments))
            continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", node->name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, true, "    ");
        if (!instance) spyi_text_add(arguments, "%s", spyi_text_str(&name));
        spyi_text_free(&name);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (s->lvalues[i] && b->leaves[i].in) spyi_emit_leaf_load(s, i, "    ");
    for (uint32_t p = 0; p < b->param_count; p++) {
        if (!spyi_type_holds_pair(b->nodes[p].type)) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_pairs(s, p, spyi_text_str(&name), true);
        spyi_text_free(&name);
    }
}

// The call for the current element, and its stores.
static void spyi_forward_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    for (uint32_t p = 0; p < b->param_count; p++) { // outputs go back from this element's variables
        if (!b->nodes[p].out) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s%s", b->nodes[p].name, s->suffix);
        spyi_emit_variables(s, p, spyi_text_str(&name), true, false, indent);
        spyi_text_free(&name);
    }
    spyi_text_add(&s->body, "%s", indent);
    if (b->has_result) {
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "r_result%s", s->suffix);
        spyi_emit_variables(s, b->param_count, spyi_text_str(&name), true, false, indent);
        spyi_text_add(&s->body, "%s %s = ", spyi_spell(b->nodes[b->param_count].type), spyi_text_str(&name));
        spyi_text_free(&name);
    }
    if (b->signature.callee == SPYI_CALLEE_METHOD) spyi_text_add(&s->body, "a_this%s.", s->suffix);
    spyi_text_add(&s->body, "%s(%s);\n", s->function, arguments);
    for (uint32_t p = 0; p < b->param_count + (b->has_result ? 1u : 0u); p++) {
        bool is_result = p == b->param_count;
        if (!b->nodes[p].out || !spyi_type_holds_pair(b->nodes[p].type)) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, is_result ? "r_result%s%s" : "a_%s%s", is_result ? "" : b->nodes[p].name,
                      s->suffix);
        spyi_emit_parts(s, p, spyi_text_str(&name), is_result, indent);
        spyi_text_free(&name);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].out) spyi_emit_leaf_store(s, i, indent);
}

SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    if (b->call_info && b->rank) {
        uint32_t group[SPY_MAX_RANK];
        spyi_text_add(&s->body, "%sspyi_set_call(", indent);
        s->prologue->number(s, &s->body);
        spyi_text_add(&s->body, spyi_call_group(b, group) ? ", spyi_block._shape, spyi_call_group_shape);\n"
                                                          : ", spyi_block._shape);\n");
    }
    s->wrapper->call(s, arguments, indent);
}

SPYI_FN const spyi_wrapper *spyi_forward(void) {
    static const spyi_wrapper wrapper = { spyi_forward_arguments, spyi_forward_call };
    return &wrapper;
}
