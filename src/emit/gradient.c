// Kernels of calls that compute gradients. The element function is wrapped as one differentiable function, spyi_element, whose
// parameters are the call's leaves, so that each leaf takes part in the derivative or not; the kernel calls it through bwd_diff
// or fwd_diff. A gradient that each element has to itself is loaded, added to and stored. One that elements share is summed:
//
//   The elements that add to one place are a sum. A team of threads makes a sum, or a part of one, each thread over every
//   so-many-th element; then the team adds up its threads in groupshared memory, in a fixed order, and one thread hands the
//   result on. A sum in one part is added to the gradient as it is; parts are added atomically, or left in memory for
//   a second pass, which sums them as this one sums elements.
//
// Barriers need all threads of a group: none leaves before the end, and those beyond the last element add nothing.
#include "data/scalars.h"
#include "emit/internal.h"

typedef enum spyi_piece_op {
    SPYI_PIECE_ADD,   // to = to + from
    SPYI_PIECE_COPY,  // to = from
    SPYI_PIECE_SUM,   // the sum += from
    SPYI_PIECE_APPLY, // to = to + the sum
    SPYI_PIECE_ATOMIC // likewise, atomically
} spyi_piece_op;

// A sum of up to so many scalars is unrolled, and its threads are added up one scalar at a time. A longer one goes in loops, and
// is added to the gradient in memory, not to a copy of it. Of 256 scalars the unrolled form took lavapipe 20 s to compile and
// 7.7 ms a call (1,000 elements); the loops take 3 s and 2 ms.
#define SPYI_SUM_UNROLLED 32u

static bool spyi_sum_is_long(const spyi_type *type) {
    return spyi_type_scalars(type) > SPYI_SUM_UNROLLED;
}

// One piece of a value after another. `to` and `from` are expressions of the value, of types that differ in scalars alone.
typedef struct spyi_pieces {
    spyi_text *out;
    spyi_piece_op op;
    const char *sum;    // its variable
    const char *scalar; // of sums
    bool single;        // the sum is no array
    bool loops;         // ... a long one: nothing is unrolled
    bool open;          // ... its outermost loops begin at spy_from
    uint32_t depth;     // loops that are open
} spyi_pieces;

static void spyi_piece(const spyi_pieces *p, const spyi_type *to_type, const char *to,
                       const spyi_type *from_type, const char *from, const char *index, const char *indent) {
    const char *type = spyi_spell(to_type);
    char sum[96];
    snprintf(sum, sizeof sum, p->single ? "%s" : "%s[%s]", p->sum, index);
    spyi_text_add(p->out, "%s", indent);
    switch (p->op) {
    case SPYI_PIECE_ADD:
        if (to_type == from_type && to_type->scalar != SPY_FLOAT16)
            spyi_text_add(p->out, "%s = %s + %s;\n", to, to, from);
        else if (to_type->scalar == SPY_FLOAT64)
            spyi_text_add(p->out, "%s = %s + %s(%s);\n", to, to, type, from);
        else if (to_type->kind == SPYI_TYPE_SCALAR)
            spyi_text_add(p->out, "%s = %s(float(%s) + float(%s));\n", to, type, to, from);
        else if (to_type->kind == SPYI_TYPE_VECTOR)
            spyi_text_add(p->out, "%s = %s(float%u(%s) + float%u(%s));\n", to, type, to_type->columns, to,
                          to_type->columns, from);
        else
            spyi_text_add(p->out, "%s = %s(float%ux%u(%s) + float%ux%u(%s));\n", to, type, to_type->rows,
                          to_type->columns, to, to_type->rows, to_type->columns, from);
        break;
    case SPYI_PIECE_COPY: spyi_text_add(p->out, "%s = %s(%s);\n", to, type, from); break;
    case SPYI_PIECE_SUM: spyi_text_add(p->out, "%s = %s + %s(%s);\n", sum, sum, p->scalar, from); break;
    case SPYI_PIECE_APPLY:
        spyi_text_add(p->out, "%s = %s(%s(%s) + %s);\n", to, type, p->scalar, to, sum);
        break;
    case SPYI_PIECE_ATOMIC: spyi_text_add(p->out, "InterlockedAdd(%s, %s);\n", to, sum); break;
    }
}

// `index`: of the piece's first scalar among those of the whole value.
static void spyi_each_piece(spyi_pieces *p, const spyi_type *to_type, const char *to,
                            const spyi_type *from_type, const char *from, const char *index,
                            const char *indent) {
    bool whole = p->op == SPYI_PIECE_ADD || p->op == SPYI_PIECE_COPY; // vectors and matrices need no parting
    uint32_t parts = to_type->kind == SPYI_TYPE_STRUCT   ? to_type->field_count
                     : to_type->kind == SPYI_TYPE_ARRAY  ? 1
                     : to_type->kind == SPYI_TYPE_SCALAR ? 0
                     : whole                             ? 0
                     : to_type->kind == SPYI_TYPE_VECTOR ? to_type->columns
                                                         : to_type->rows;
    uint32_t skipped = 0;
    if (!parts) spyi_piece(p, to_type, to, from_type, from, index, indent);
    for (uint32_t i = 0; i < parts; i++) {
        spyi_text a = { NULL, 0, 0 }, b = { NULL, 0, 0 }, at = { NULL, 0, 0 }, inside = { NULL, 0, 0 };
        const spyi_type *a_type = to_type->element, *b_type = from_type->element;
        uint32_t n;
        if (to_type->kind == SPYI_TYPE_STRUCT) {
            a_type = to_type->fields[i].type;
            b_type = from_type->fields[i].type;
            spyi_text_add(&a, "%s.%s", to, to_type->fields[i].name);
            spyi_text_add(&b, "%s.%s", from, from_type->fields[i].name);
        } else if (to_type->kind == SPYI_TYPE_ARRAY) {
            spyi_text_add(&a, "%s[spy_p%u]", to, p->depth);
            spyi_text_add(&b, "%s[spy_p%u]", from, p->depth);
        } else {
            spyi_text_add(&a, "%s[%u]", to, i);
            spyi_text_add(&b, "%s[%u]", from, i);
        }
        n = spyi_type_scalars(a_type);
        if (to_type->kind == SPYI_TYPE_ARRAY) {
            spyi_text_add(&at, "%s + spy_p%u * %u", index, p->depth, n);
            spyi_text_add(p->out, "%s%sfor (int spy_p%u = %s; spy_p%u < %lld; ++spy_p%u)\n%s{\n", indent,
                          to_type->count <= 16 && !p->loops ? "[ForceUnroll] " : "", p->depth,
                          p->open && !p->depth ? "spy_from" : "0", p->depth, (long long)to_type->count,
                          p->depth, indent);
            spyi_text_add(&inside, "%s    ", indent);
            p->depth++;
            spyi_each_piece(p, a_type, spyi_text_str(&a), b_type, spyi_text_str(&b), spyi_text_str(&at),
                            spyi_text_str(&inside));
            p->depth--;
            spyi_text_add(p->out, "%s}\n", indent);
        } else {
            if (skipped) spyi_text_add(&at, "%s + %u", index, skipped);
            else spyi_text_add(&at, "%s", index);
            spyi_each_piece(p, a_type, spyi_text_str(&a), b_type, spyi_text_str(&b), spyi_text_str(&at),
                            indent);
        }
        skipped += n;
        spyi_text_free(&a);
        spyi_text_free(&b);
        spyi_text_free(&at);
        spyi_text_free(&inside);
    }
}

// Whether the loops that write a sum out begin at spy_from. It is 0, which compilers cannot know: where they can, NVRTC unrolls all
// of them, which takes about a third of its time for a layer of 256 weights, and lavapipe those of up to 32.
static bool spyi_ends_in_loops(const spyi_emit_state *s, uint32_t i) {
    return s->key->team && spyi_is_summed(s, i) && spyi_sum_is_long(s->bound->leaves[i].type);
}

static void spyi_emit_pieces(spyi_emit_state *s, spyi_piece_op op, uint32_t sum_of, const spyi_type *to_type,
                             const char *to, const spyi_type *from_type, const char *from,
                             const char *indent) {
    spyi_pieces p;
    spyi_text sum = { NULL, 0, 0 };
    const spyi_type *type = s->bound->leaves[sum_of].type;
    spyi_text_add(&sum, "sum_%s", s->names[sum_of]);
    p.out = &s->body;
    p.op = op;
    p.sum = spyi_text_str(&sum);
    p.scalar = spyi_sum_scalar(type) == SPY_FLOAT64 ? "double" : "float";
    p.single = spyi_type_scalars(type) == 1;
    p.loops = spyi_is_summed(s, sum_of) && spyi_sum_is_long(type);
    p.open = op >= SPYI_PIECE_APPLY && spyi_ends_in_loops(s, sum_of);
    p.depth = 0;
    spyi_each_piece(&p, to_type, to, from_type, from, "0", indent);
    spyi_text_free(&sum);
}

// >>the element function

// An output that nobody wants to know about.
static bool spyi_is_dropped(const spyi_leaf *leaf) {
    return leaf->source == SPYI_SOURCE_NONE && !leaf->grads[SPYI_GRAD_IN];
}

static bool spyi_is_active(const spyi_bound *b, const spyi_leaf *leaf) {
    if (b->mode == SPY_CALL_FORWARD_DIFF)
        return leaf->param_out ? leaf->differential != NULL && leaf->source != SPYI_SOURCE_KIND
                               : leaf->grads[SPYI_GRAD_IN] != 0;
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
static void spyi_make_variable(spyi_emit_state *s, uint32_t i, const char *prefix, bool loads,
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

// >>sums

SPYI_FN uint32_t spyi_team_size(const spyi_variant_key *key, uint32_t group_size) {
    return key->team == SPYI_WHOLE_TEAM ? group_size : 1u << (key->team - 1);
}

SPYI_FN void spyi_declare_sums(spyi_emit_state *s) {
    static const char *const names[5] = { "_sums", "_each", "_parts", "_length", "_row" };
    for (uint32_t d = 0; d < (s->key->folded ? 5u : 4u); d++)
        spyi_add_field(s, SPYI_PACK_TEAM, d, 0, 4, 4, "uint %s", names[d]);
    for (uint32_t d = 0; d < s->key->rank && s->key->reordered; d++)
        spyi_add_field(s, SPYI_PACK_ELEMENT, d, 0, 4, 4, "int _element%u", d);
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        if (!spyi_is_summed(s, i) || !(spyi_is_skipped(s, i) || s->key->finishes)) continue;
        bool is_double = spyi_sum_scalar(s->bound->leaves[i].type) == SPY_FLOAT64;
        spyi_add_field(s, SPYI_PACK_SUMS, 0, i, 8, 8, "%s* %s__sums", is_double ? "double" : "float",
                       s->names[i]);
    }
}

// Each scalar of leaf `i`'s sum: `format` has the sum and its number.
static void spyi_each_sum(spyi_emit_state *s, uint32_t i, const char *format, const char *indent) {
    uint32_t n = spyi_type_scalars(s->bound->leaves[i].type);
    spyi_text sum = { NULL, 0, 0 };
    spyi_text_add(&sum, n == 1 ? "sum_%s" : "sum_%s[spy_p]", s->names[i]);
    if (n > 1)
        spyi_text_add(&s->body, "%s%sfor (int spy_p = 0; spy_p < %u; ++spy_p)\n    ", indent,
                      n <= 16 ? "[ForceUnroll] " : "", n);
    spyi_text_add(&s->body, "%s%s = ", indent, spyi_text_str(&sum));
    spyi_text_add(&s->body, format, spyi_text_str(&sum));
    spyi_text_add(&s->body, ";\n");
    spyi_text_free(&sum);
}

// What teams have left of leaf `i`'s sums: number `row` of each.
static void spyi_left_place(const spyi_emit_state *s, uint32_t i, const char *row, spyi_text *out) {
    uint32_t n = spyi_type_scalars(s->bound->leaves[i].type);
    spyi_text_add(out, "spyi_block.%s__sums[", s->names[i]);
    if (n > 1) spyi_text_add(out, "(%s * spyi_block._sums + spy_k) * %u + spy_p]", row, n);
    else spyi_text_add(out, "%s * spyi_block._sums + spy_k]", row);
}

// Lines one step further in.
static void spyi_add_indented(const spyi_text *lines, spyi_text *out) {
    const char *line = spyi_text_str(lines);
    while (*line) {
        size_t length = strcspn(line, "\n");
        spyi_text_add(out, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

// Places of the loop's element, or of the sum itself at the end.
static void spyi_emit_team_places(spyi_emit_state *s, bool end) {
    const char *index = s->key->index64 ? "int64_t" : "int";
    if (!spyi_needs_coordinates(s)) return;
    if (!s->key->by_team) spyi_emit_coordinates(s);
    else
        spyi_text_add(&s->body, "    %s spy_c0 = %s(spy_k);\n    %s spy_c1 = %s(%s);\n", index, index, index,
                      index, end ? "0" : "spy_j");
    spyi_emit_offsets(s, end);
}

static void spyi_emit_team_loop(spyi_emit_state *s, uint32_t team) {
    const spyi_bound *b = s->bound;
    spyi_text outer = s->body, arguments = { NULL, 0, 0 };
    memset(&s->body, 0, sizeof s->body);
    if (s->key->finishes) {
        for (uint32_t i = 0; i < b->leaf_count; i++) {
            if (!spyi_is_summed(s, i)) continue;
            spyi_text format = { NULL, 0, 0 };
            spyi_text_add(&format, "%%s + ");
            spyi_left_place(s, i, "spy_j", &format);
            spyi_each_sum(s, i, spyi_text_str(&format), "    ");
            spyi_text_free(&format);
        }
    } else {
        spyi_text_add(&s->body, "    uint spy_i = spy_k * spyi_block._each + spy_j;\n");
        spyi_emit_team_places(s, false);
        spyi_emit_gradient_arguments(s, &arguments);
        spyi_emit_call(s, "", spyi_text_str(&arguments), "    ");
    }
    spyi_text_free(&arguments);
    spyi_text_add(
        &outer,
        "    for (uint spy_j = spy_part * spyi_block._length + spy_r; spy_j < spy_end; spy_j = spy_j + "
        "%u)\n    {\n",
        team);
    spyi_add_indented(&s->body, &outer);
    spyi_text_add(&outer, "    }\n");
    spyi_text_free(&s->body);
    s->body = outer;
}

// A team's sum leaves: into the gradient, or for a later pass.
static void spyi_emit_team_end(spyi_emit_state *s, uint32_t i) {
    const spyi_leaf *leaf = &s->bound->leaves[i];
    spyi_text place = { NULL, 0, 0 };
    if (spyi_is_skipped(s, i)) {
        uint32_t n = spyi_type_scalars(leaf->type);
        spyi_left_place(s, i, "spy_part", &place);
        if (n > 1)
            spyi_text_add(&s->body, "    for (int spy_p = %s; spy_p < %u; ++spy_p) ",
                          spyi_ends_in_loops(s, i) ? "spy_from" : "0", n);
        else spyi_text_add(&s->body, "    ");
        spyi_text_add(&s->body, n > 1 ? "%s = sum_%s[spy_p];\n" : "%s = sum_%s;\n", spyi_text_str(&place),
                      s->names[i]);
    } else if (s->key->walk[i] & SPYI_WALK_ATOMIC) {
        spyi_place(s, i, 0, "", true, &place);
        spyi_emit_pieces(s, SPYI_PIECE_ATOMIC, i, leaf->type, spyi_text_str(&place), leaf->type, "", "    ");
    } else if (spyi_sum_is_long(leaf->type) &&
               !spyi_gathers(s, i)) { // where it lies: a copy is unrolled by drivers
        spyi_place(s, i, 0, "", true, &place);
        spyi_emit_pieces(s, SPYI_PIECE_APPLY, i, leaf->type, spyi_text_str(&place), leaf->type, "", "    ");
    } else {
        spyi_make_variable(s, i, "g_", true, "    ");
        spyi_emit_pieces(s, SPYI_PIECE_APPLY, i, leaf->type, s->lvalues[i], leaf->type, "", "    ");
        spyi_emit_leaf_store(s, i, "    ");
    }
    spyi_text_free(&place);
}

SPYI_FN void spyi_emit_team_body(spyi_emit_state *s) {
    const spyi_variant_key *key = s->key;
    const spyi_bound *b = s->bound;
    uint32_t group = s->out->group_size, team = spyi_team_size(key, group), side = group / team;
    spyi_text *body = &s->body;
    bool places = false, open = false;
    spyi_text_add(body, "    uint spy_g = %s;\n",
                  key->folded ? "spy_group.y * spyi_block._row + spy_group.x" : "spy_group.x");
    spyi_text_add(body, "    uint spy_r = spy_in_group %s %u;\n    uint spy_n = spy_in_group %s %u;\n",
                  key->inner ? "%" : "/", key->inner ? team : side, key->inner ? "/" : "%",
                  key->inner ? team : side);
    spyi_text_add(body,
                  "    uint spy_part = spy_g %% spyi_block._parts;\n    uint spy_k = spy_g / "
                  "spyi_block._parts * %u + spy_n;\n",
                  side);
    spyi_text_add(body, "    uint spy_end = spy_k < spyi_block._sums ? min(spy_part * spyi_block._length + "
                        "spyi_block._length, "
                        "spyi_block._each) : 0;\n");
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        uint32_t n = spyi_is_summed(s, i) ? spyi_type_scalars(b->leaves[i].type) : 0;
        const char *scalar = n && spyi_sum_scalar(b->leaves[i].type) == SPY_FLOAT64 ? "double" : "float";
        if (n > 1) spyi_text_add(body, "    %s sum_%s[%u] = {};\n", scalar, s->names[i], n);
        else if (n) spyi_text_add(body, "    %s sum_%s = 0;\n", scalar, s->names[i]);
        open = open || spyi_ends_in_loops(s, i);
        places = places || (n && !spyi_is_skipped(s, i) && spyi_walk_of(s, i) >= SPYI_WALK_LINEAR);
    }
    if (!key->finishes) spyi_emit_thread_loads(s);
    spyi_emit_team_loop(s, team);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        char format[160];
        if (!spyi_is_summed(s, i)) continue;
        if (spyi_sum_is_long(b->leaves[i].type)) {
            spyi_text_add(body, "    spyi_team_sums(sum_%s, spy_in_group, spy_r, %u, %u, %s);\n", s->names[i],
                          team, side, key->inner ? "true" : "false");
            continue;
        }
        snprintf(format, sizeof format, "spyi_team_sum(%%s, spy_r, spy_r * %u + spy_n, %u, %u)", side, side,
                 team);
        spyi_each_sum(s, i, format, "    ");
    }
    spyi_text_add(body, "    if (spy_r == 0 && spy_k < spyi_block._sums)\n    {\n");
    spyi_text outer = s->body;
    memset(&s->body, 0, sizeof s->body);
    if (places) {
        spyi_text_add(body, "    uint spy_i = spy_k%s;\n", key->finishes ? "" : " * spyi_block._each");
        spyi_emit_team_places(s, true);
    }
    if (open) spyi_text_add(body, "    int spy_from = min(int(spyi_block._parts), 0);\n");
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_is_summed(s, i)) spyi_emit_team_end(s, i);
    spyi_add_indented(&s->body, &outer);
    spyi_text_free(&s->body);
    s->body = outer;
    spyi_text_add(body, "    }\n");
}
