// Writes the text of declarations in Slang's spelling.
#include "compiler/declare.h"

SPYI_FN const char *spyi_sl_type_text(const spy_decl *node) {
    return node->type ? node->type->name : "void";
}

SPYI_FN void spyi_sl_add_list(const spyi_sl_nodes *nodes, bool generics, spyi_text *out) {
    bool first = true;
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const spy_decl *n = &nodes->items[i];
        if ((n->kind == SPY_DECL_KIND_PARAMETER) == generics) continue;
        if (n->kind != SPY_DECL_KIND_PARAMETER && n->kind != SPY_DECL_KIND_GENERIC_TYPE &&
            n->kind != SPY_DECL_KIND_GENERIC_VALUE)
            continue;
        spyi_text_add(out, "%s%s", first ? (generics ? "<" : "") : ", ", n->text);
        first = false;
    }
    if (generics && !first) spyi_text_add(out, ">");
}

static void spyi_sl_add_value(const spy_decl *node, spyi_text *out) {
    if (!(node->flags & SPY_DECL_FLAG_HAS_DEFAULT)) return;
    spyi_text_add(out, " = ");
    spyi_sl_add_constant(&node->value, out);
}

SPYI_FN const char *spyi_sl_variable_text(spyi_sl_builder *b, const spy_decl *node) {
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = { { SPY_DECL_FLAG_EXTERN, "extern " },
                  { SPY_DECL_FLAG_EXPORT, "export " },
                  { SPY_DECL_FLAG_STATIC, "static " },
                  { SPY_DECL_FLAG_CONST, "const " },
                  { SPY_DECL_FLAG_NO_DIFF, "no_diff " } };
    spyi_text text = { NULL, 0, 0 };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (node->flags & words[i].flag) spyi_text_add(&text, "%s", words[i].word);
    if (node->kind == SPY_DECL_KIND_PARAMETER && (node->flags & SPY_DECL_FLAG_OUT))
        spyi_text_add(&text, node->flags & SPY_DECL_FLAG_IN ? "inout " : "out ");
    if (node->kind == SPY_DECL_KIND_GENERIC_VALUE)
        spyi_text_add(&text, "let %s : %s", node->name, spyi_sl_type_text(node));
    else spyi_text_add(&text, "%s%s%s", spyi_sl_type_text(node), *node->name ? " " : "", node->name);
    spyi_sl_add_value(node, &text);
    return spyi_sl_keep_text(b->to, &text);
}

SPYI_FN const char *spyi_sl_function_text(spyi_sl_builder *b, const spy_decl *node,
                                          const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    if (node->flags & SPY_DECL_FLAG_STATIC) spyi_text_add(&text, "static ");
    if (node->flags & SPY_DECL_FLAG_MUTATING) spyi_text_add(&text, "[mutating] ");
    if (node->kind != SPY_DECL_KIND_CONSTRUCTOR) spyi_text_add(&text, "%s ", spyi_sl_type_text(node));
    spyi_text_add(&text, "%s", node->name);
    spyi_sl_add_list(nodes, true, &text);
    spyi_text_add(&text, "(");
    spyi_sl_add_list(nodes, false, &text);
    spyi_text_add(&text, ")");
    return spyi_sl_keep_text(b->to, &text);
}

SPYI_FN const char *spyi_sl_scope_text(spyi_sl_builder *b, const char *word, const spy_decl *node,
                                       const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "%s%s%s", word, *node->name ? " " : "", node->name);
    if (nodes) spyi_sl_add_list(nodes, true, &text);
    if (node->kind == SPY_DECL_KIND_ENUM && node->type && node->type->element)
        spyi_text_add(&text, " : %s", node->type->element->name);
    if (node->kind == SPY_DECL_KIND_ALIAS && node->type) spyi_text_add(&text, " = %s", node->type->name);
    return spyi_sl_keep_text(b->to, &text);
}
