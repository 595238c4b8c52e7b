// Calls the element function for one element of the kernel: writes its arguments with their loads, the call,
// and the stores of its outputs. gradient.c does the same for calls that compute gradients.
#include "emit/internal.h"

// Returns the beginning of the name of a leaf's variable; the leaf's name follows: "a_x", "r_result".
static const char *spyi_variable_prefix(const spyi_leaf *leaf) {
    return strncmp(leaf->path, "_result", 7) == 0 ? "r" : "a_";
}

static void spyi_forward_arguments(spyi_emit_state *s, spyi_text *arguments) {
    const spyi_bound *b = s->bound;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_is_parameter(b, leaf)) continue;
        if (arguments->size) spyi_text_add(arguments, ", ");
        if (!leaf->out) {
            spyi_value_expression(s, i, arguments);
            continue;
        }
        const char *prefix = spyi_variable_prefix(leaf);
        if (leaf->in) spyi_make_variable(s, i, prefix, true, "    ");
        spyi_text_add(arguments, "%s%s%s", prefix, s->names[i], s->suffix);
    }
}

SPYI_FN const char *spyi_open_stores(spyi_emit_state *s, const char *indent) {
    if (!spyi_fills_warps(s)) return indent;
    spyi_text_add(&s->body, "%sif (spy_inside)\n%s{\n", indent, indent);
    return "        "; // such a kernel has one element a thread, whose statements are indented by four spaces
}

static void spyi_forward_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    const spyi_leaf *returned = spyi_returned_leaf(b);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!leaf->out) continue;
        if (leaf->in || leaf == returned) spyi_name_variable(s, i, spyi_variable_prefix(leaf));
        else spyi_make_variable(s, i, spyi_variable_prefix(leaf), false, indent);
    }
    spyi_text_add(&s->body, "%s", indent);
    if (returned)
        spyi_text_add(&s->body, "%s %s = ", spyi_spell(returned->type), s->lvalues[returned - b->leaves]);
    spyi_text_add(&s->body, "spyi_element(%s);\n", arguments);
    const char *inner = spyi_open_stores(s, indent);
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (b->leaves[i].out) spyi_emit_leaf_store(s, i, inner);
    if (inner != indent) spyi_text_add(&s->body, "%s}\n", indent);
}

SPYI_FN void spyi_emit_call(spyi_emit_state *s, const char *arguments, const char *indent) {
    const spyi_bound *b = s->bound;
    if (b->call_info && b->rank) {
        uint32_t group[SPY_MAX_RANK];
        spyi_text_add(&s->body, "%sspyi_set_call(", indent);
        s->prologue->number(s, &s->body);
        spyi_text_add(&s->body, spyi_given_group(b, group) ? ", spyi_block._shape, spyi_call_group_shape);\n"
                                                           : ", spyi_block._shape);\n");
    }
    s->wrapper->call(s, arguments, indent);
}

SPYI_FN const spyi_wrapper *spyi_forward(void) {
    static const spyi_wrapper wrapper = { spyi_forward_arguments, spyi_forward_call };
    return &wrapper;
}
