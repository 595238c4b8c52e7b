// Kernels of calls that compute gradients. The element function is wrapped as one differentiable function, spyi_element, whose
// parameters are the call's leaves, so that each leaf takes part in the derivative or not; the kernel calls it through bwd_diff
// or fwd_diff. A gradient that each element has to itself is loaded, added to and stored here. One that elements share is
// summed: team.c.
#include "emit/internal.h"

// >>the element function

// An output that nobody wants to know about.
static bool spyi_is_dropped(const spyi_leaf *leaf) {
    return (leaf->traits & SPYI_TRAIT_UNUSED) && !leaf->grads[SPYI_GRAD_IN];
}

static bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf) {
    if (b->mode == SPY_CALL_FORWARD_DIFF)
        return leaf->param_out ? leaf->differential != NULL : leaf->grads[SPYI_GRAD_IN] != 0;
    return leaf->grads[SPYI_GRAD_IN] || leaf->grads[SPYI_GRAD_OUT];
}

static const char *spyi_leaf_type(const spyi_leaf *leaf) {
    return leaf->kind_type ? leaf->kind_type : spyi_spell(leaf->type);
}

// Whether the wrapper's parameter goes back to the caller; other outputs are variables of the wrapper.
static bool spyi_comes_back(const spyi_bound *b, const spyi_leaf *leaf) {
    return leaf->param_out && (b->mode == SPY_CALL_FORWARD_DIFF || spyi_is_active(b, leaf));
}

// A parameter of the wrapper before the call, or its outputs after it. `to`: the variable that it is in.
static void spyi_emit_fields(const spyi_emit_state *s, uint32_t node_index, const char *to, bool before,
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
            spyi_emit_fields(s, node->first + i, spyi_text_str(&part), true, out);
            spyi_text_add(out, "    %s = %s;\n", spyi_text_str(&field), spyi_text_str(&part));
        } else {
            spyi_emit_fields(s, node->first + i, spyi_text_str(&field), before, out);
        }
        spyi_text_free(&field);
        spyi_text_free(&part);
    }
}

// Whether a parameter or result needs a variable in the wrapper.
static bool spyi_needs_local(const spyi_bound *b, const spyi_node *node) {
    if (node->leaf < 0) return true;
    const spyi_leaf *leaf = &b->leaves[node->leaf];
    return leaf->param_out && !spyi_comes_back(b, leaf);
}

static void spyi_emit_parameters(const spyi_emit_state *s, spyi_text *out) {
    const spyi_bound *b = s->bound;
    const char *comma = "";
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        bool back = spyi_comes_back(b, leaf);
        if (leaf->role != SPYI_ROLE_VALUE || spyi_is_dropped(leaf)) continue;
        if (!back && !leaf->param_in) continue;
        spyi_text_add(out, "%s%s%s v_%s", comma,
                      back && leaf->param_in    ? "inout "
                      : back                    ? "out "
                      : spyi_is_active(b, leaf) ? ""
                                                : "no_diff ",
                      spyi_leaf_type(leaf), s->names[i]);
        comma = ", ";
    }
}

SPYI_FN void spyi_emit_differentiable(spyi_emit_state *s, const char *function, spyi_text *out) {
    const spyi_bound *b = s->bound;
    uint32_t tops = b->param_count + (b->has_result ? 1u : 0u);
    spyi_text arguments = { NULL, 0, 0 }, result = { NULL, 0, 0 }, instance = { NULL, 0, 0 };
    spyi_text_add(out, "[Differentiable]\nvoid spyi_element(");
    spyi_emit_parameters(s, out);
    spyi_text_add(out, ")\n{\n");
    for (uint32_t p = 0; p < tops; p++) {
        const spyi_node *node = &b->nodes[p];
        bool is_result = p == b->param_count;
        spyi_text name = { NULL, 0, 0 };
        if (spyi_needs_local(b, node)) {
            spyi_text_add(&name, "a_%s", node->name);
            spyi_text_add(out, "    %s %s;\n", spyi_spell(node->type), spyi_text_str(&name));
            if (!is_result) spyi_emit_fields(s, p, spyi_text_str(&name), true, out);
        } else {
            spyi_text_add(&name, "v_%s", s->names[node->leaf]);
        }
        if (is_result) spyi_text_add(&result, "%s = ", spyi_text_str(&name));
        else if (p == 0 && b->signature.callee == SPYI_CALLEE_METHOD)
            spyi_text_add(&instance, "%s.", spyi_text_str(&name));
        else spyi_text_add(&arguments, "%s%s", arguments.size ? ", " : "", spyi_text_str(&name));
        spyi_text_free(&name);
    }
    spyi_text_add(out, "    %s%s%s(%s);\n", spyi_text_str(&result), spyi_text_str(&instance), function,
                  spyi_text_str(&arguments));
    for (uint32_t p = 0; p < tops; p++) {
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "a_%s", b->nodes[p].name);
        if (spyi_needs_local(b, &b->nodes[p])) spyi_emit_fields(s, p, spyi_text_str(&name), false, out);
        spyi_text_free(&name);
    }
    spyi_text_add(out, "}\n\n");
    spyi_text_free(&arguments);
    spyi_text_free(&result);
    spyi_text_free(&instance);
}

// >>the call for an element

// The leaf's variable, "a_x_1"; `loads`: filled here.
SPYI_FN void spyi_make_variable(spyi_emit_state *s, uint32_t i, const char *prefix, bool loads,
                                const char *indent) {
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "%s%s%s", prefix, s->names[i], s->suffix);
    free(s->lvalues[i]);
    s->lvalues[i] = spyi_strdup(spyi_text_str(&name));
    s->fresh[i] = loads && !spyi_gathers(s, i);
    if (!s->fresh[i])
        spyi_text_add(&s->body, "%s%s %s;\n", indent, spyi_spell(s->bound->leaves[i].type),
                      spyi_text_str(&name));
    if (loads) spyi_emit_leaf_load(s, i, indent);
    s->fresh[i] = false;
    spyi_text_free(&name);
}

// The leaf's value for the current element.
static void spyi_value_expression(spyi_emit_state *s, uint32_t i, spyi_text *out) {
    if (spyi_leaf_expression(s, i, out)) return;
    spyi_make_variable(s, i, "a_", true, "    ");
    spyi_text_add(out, "%s", s->lvalues[i]);
}

// A gradient that is read, as the derivative takes it.
static void spyi_gradient_expression(spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *wanted = s->bound->leaves[leaf->value_leaf].differential;
    spyi_text value = { NULL, 0, 0 };
    spyi_value_expression(s, i, &value);
    if (leaf->type == wanted) {
        spyi_text_add(out, "%s", spyi_text_str(&value));
    } else if (wanted->kind != SPYI_TYPE_ARRAY) {
        spyi_text_add(out, "%s(%s)", spyi_spell(wanted), spyi_text_str(&value));
    } else {
        spyi_text_add(out, "c_%s%s", s->names[i], s->suffix);
        spyi_text_add(&s->body, "    %s c_%s%s;\n", spyi_spell(wanted), s->names[i], s->suffix);
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "c_%s%s", s->names[i], s->suffix);
        spyi_emit_pieces(s, SPYI_PIECE_COPY, i, wanted, spyi_text_str(&name), leaf->type,
                         spyi_text_str(&value), "    ");
        spyi_text_free(&name);
    }
    spyi_text_free(&value);
}

static void spyi_emit_argument(spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    bool backward = s->bound->mode == SPY_CALL_BACKWARD;
    if (!spyi_is_active(s->bound, leaf)) {
        if (leaf->param_in && !(leaf->param_out && !backward)) {
            spyi_value_expression(s, i, out);
        } else { // an output of a type without derivatives, in forward mode
            spyi_make_variable(s, i, "a_", leaf->param_in, "    ");
            spyi_text_add(out, "%s", s->lvalues[i]);
        }
        return;
    }
    if (backward && !leaf->param_in) {
        spyi_gradient_expression(s, leaf->grads[SPYI_GRAD_IN], out);
        return;
    }
    spyi_text_add(out, "p_%s%s", s->names[i], s->suffix);
    spyi_text pair = { NULL, 0, 0 };
    if (leaf->param_in) {
        spyi_text_add(&pair, " = diffPair(");
        if (leaf->out) {
            spyi_make_variable(s, i, "a_", true, "    ");
            spyi_text_add(&pair, "%s", s->lvalues[i]);
        } else {
            spyi_value_expression(s, i, &pair);
        }
        if (leaf->grads[SPYI_GRAD_IN]) {
            spyi_text_add(&pair, ", ");
            spyi_gradient_expression(s, leaf->grads[SPYI_GRAD_IN], &pair);
        }
        spyi_text_add(&pair, ")");
    }
    spyi_text_add(&s->body, "    DifferentialPair<%s> p_%s%s%s;\n", spyi_spell(leaf->type), s->names[i],
                  s->suffix, spyi_text_str(&pair));
    spyi_text_free(&pair);
}

SPYI_FN void spyi_emit_gradient_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->role != SPYI_ROLE_VALUE || spyi_is_dropped(leaf)) continue;
        if (!leaf->param_in && !spyi_comes_back(b, leaf)) continue;
        if (arguments->size) spyi_text_add(arguments, ", ");
        spyi_emit_argument(s, i, arguments);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) // so that the loads are under way together
        if (b->leaves[i].role == SPYI_ROLE_ADDED && s->key->width == 1 && !s->key->together &&
            !spyi_is_skipped(s, i) && !spyi_is_summed(s, i))
            spyi_make_variable(s, i, "g_", true, "    ");
}

// What an input's pair holds after the call is added to its gradient.
static void spyi_add_gradient(spyi_emit_state *s, uint32_t i, const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i], *of = &s->bound->leaves[leaf->value_leaf];
    spyi_text from = { NULL, 0, 0 }, to = { NULL, 0, 0 };
    spyi_text_add(&from, "p_%s%s.d", s->names[leaf->value_leaf], s->suffix);
    spyi_text_add(&to, "g_%s%s", s->names[i], s->suffix);
    if (spyi_is_summed(s, i)) {
        spyi_emit_pieces(s, SPYI_PIECE_SUM, i, of->differential, "", of->differential, spyi_text_str(&from),
                         indent);
    } else if (!spyi_is_skipped(s, i)) {
        if (s->key->width > 1 || s->key->together) {
            spyi_make_variable(s, i, "g_", true, indent);
        } else {
            free(s->lvalues[i]);
            s->lvalues[i] = spyi_strdup(spyi_text_str(&to));
        }
        spyi_emit_pieces(s, SPYI_PIECE_ADD, i, leaf->type, spyi_text_str(&to), of->differential,
                         spyi_text_str(&from), indent);
        spyi_emit_leaf_store(s, i, indent);
    }
    spyi_text_free(&from);
    spyi_text_free(&to);
}

// An output of forward mode, or its gradient.
static void spyi_store_output(spyi_emit_state *s, uint32_t i, const char *indent) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    bool gradient = leaf->role == SPYI_ROLE_WRITTEN;
    uint32_t value = gradient ? leaf->value_leaf : i;
    const spyi_type *type = gradient ? s->bound->leaves[value].differential : leaf->type;
    spyi_text from = { NULL, 0, 0 };
    spyi_text_add(&from, spyi_is_active(s->bound, &s->bound->leaves[value]) ? "p_%s%s%s" : "a_%s%s",
                  s->names[value], s->suffix, gradient ? ".d" : ".p");
    if (type == leaf->type) {
        free(s->lvalues[i]);
        s->lvalues[i] = spyi_strdup(spyi_text_str(&from));
    } else {
        spyi_make_variable(s, i, "g_", false, indent);
        spyi_emit_pieces(s, SPYI_PIECE_COPY, i, leaf->type, s->lvalues[i], type, spyi_text_str(&from),
                         indent);
    }
    spyi_emit_leaf_store(s, i, indent);
    spyi_text_free(&from);
}

SPYI_FN void spyi_emit_gradient_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    bool backward = b->mode == SPY_CALL_BACKWARD;
    spyi_text_add(&s->body, "%s%s(spyi_element)(%s);\n", indent, backward ? "bwd_diff" : "fwd_diff",
                  arguments);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (backward && b->leaves[i].role == SPYI_ROLE_ADDED) spyi_add_gradient(s, i, indent);
        if (!backward && b->leaves[i].out) spyi_store_output(s, i, indent);
    }
}
