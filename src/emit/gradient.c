// Calls the element function's derivative for one element of the kernel, through bwd_diff or fwd_diff. A
// gradient that no two elements share is loaded, added to and stored here. team.c sums shared gradients.
#include "emit/internal.h"

// Writes the value of a gradient that is read, in the type that the derivative takes.
static void spyi_gradient_expression(spyi_emit_state *s, uint32_t i, spyi_text *out) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    const spyi_type *wanted = s->bound->leaves[leaf->value_leaf].differential;
    spyi_text value = { NULL, 0, 0 };
    spyi_value_expression(s, i, &value);
    if (s->bound->mode == SPY_CALL_MODE_BACKWARD &&
        spyi_fills_warps(s)) { // an element's second computation adds nothing
        spyi_text_add(&s->body, "    %s d_%s = {};\n    if (spy_inside) d_%s = %s;\n", spyi_spell(leaf->type),
                      s->names[i], s->names[i], spyi_text_str(&value));
        spyi_text_clear(&value);
        spyi_text_add(&value, "d_%s", s->names[i]);
    }
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
    bool backward = s->bound->mode == SPY_CALL_MODE_BACKWARD;
    if (!spyi_is_active(s->bound, leaf)) {
        if (leaf->param_in && !(leaf->param_out && !backward)) {
            spyi_value_expression(s, i, out);
        } else { // this is an output, in forward mode, whose type has no derivative
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

// Writes the variable to which an element adds its part of a gradient: the gradient, or zero if the call stores
// gradients.
static void spyi_gradient_variable(spyi_emit_state *s, uint32_t i, const char *indent) {
    spyi_make_variable(s, i, "g_", s->bound->leaves[i].in, indent);
    if (!s->bound->leaves[i].in) spyi_text_add(&s->body, "%s%s = {};\n", indent, s->lvalues[i]);
}

static void spyi_gradient_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->role != SPYI_ROLE_VALUE || spyi_is_dropped(leaf)) continue;
        if (!leaf->param_in && !spyi_comes_back(b, leaf)) continue;
        if (arguments->size) spyi_text_add(arguments, ", ");
        spyi_emit_argument(s, i, arguments);
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) // the loads come first, so that they are under way together
        if (b->leaves[i].role == SPYI_ROLE_ADDED && s->key->width == 1 && !s->key->together &&
            !spyi_is_skipped(s, i) && !spyi_is_summed(s, i))
            spyi_gradient_variable(s, i, "    ");
}

// Adds the differential in an input's pair after the call to the input's gradient.
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
            spyi_gradient_variable(s, i, indent);
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

// Stores an output of forward mode, or the output's gradient.
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

static void spyi_gradient_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    bool backward = b->mode == SPY_CALL_MODE_BACKWARD;
    if (b->combine) spyi_text_add(&s->body, "%sspyi_element(%s);\n", indent, arguments);
    else
        spyi_text_add(&s->body, "%s%s(spyi_element)(%s);\n", indent, backward ? "bwd_diff" : "fwd_diff",
                      arguments);
    bool stores = !backward;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        stores = stores || (b->leaves[i].role == SPYI_ROLE_ADDED && !spyi_is_skipped(s, i));
    const char *inner = stores ? spyi_open_stores(s, indent) : indent;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (backward && b->leaves[i].role == SPYI_ROLE_ADDED) spyi_add_gradient(s, i, inner);
        if (!backward && b->leaves[i].out) spyi_store_output(s, i, inner);
    }
    if (inner != indent) spyi_text_add(&s->body, "%s}\n", indent);
}

SPYI_FN const spyi_wrapper *spyi_derivative(void) {
    static const spyi_wrapper wrapper = { spyi_gradient_arguments, spyi_gradient_call };
    return &wrapper;
}
