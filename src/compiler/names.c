// Finds names in a module that are similar to a wrong one, for "did you mean".
#include "compiler/internal.h"

enum { SPYI_SL_DEEPEST = 8 };

// Returns whether Slang added the declaration: constructors, and derivatives beside each differentiable
// function.
bool spyi_sl_is_synthesised(const char *name) {
    static const char *const names[] = { "fwd_diff", "bwd_diff", "apply_bwd", "remat" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(name, names[i]) == 0) return true;
    return name[0] == '$' || name[0] == '\0';
}

static void spyi_sl_near_walk(spyi_unit *unit, spyi_near *near_names, spyi_sl_decl *decl, const char *prefix,
                              int depth) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        const char *name = child ? lib->spReflectionDecl_getName(child) : NULL;
        if (!name || spyi_sl_is_synthesised(name)) continue;
        unsigned kind = lib->spReflectionDecl_getKind(child);
        spyi_sl_generic *generic =
            kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(child) : NULL;
        if (generic) kind = lib->spReflectionGeneric_GetInnerKind(generic);
        spyi_text full = { NULL, 0, 0 };
        spyi_text_add(&full, "%s%s", prefix, name);
        if (kind == SPYI_SL_DECL_FUNCTION) {
            spyi_near_offer(near_names, spyi_text_str(&full));
        } else if ((kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_NAMESPACE) && !generic &&
                   depth < SPYI_SL_DEEPEST) {
            spyi_text_add(&full, "::");
            spyi_sl_near_walk(unit, near_names, child, spyi_text_str(&full), depth + 1);
        }
        spyi_text_free(&full);
    }
}

static void spyi_sl_ask_near(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_decl *root = live->module->v->getModuleReflection(live->module);
    if (root) spyi_sl_near_walk(unit, (spyi_near *)context, root, "", 0);
}

void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out) {
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = name;
    if (!name || strlen(name) > 200) return;
    spyi_sl_ask(unit, 1, "look for a name", spyi_sl_ask_near, &near_names, NULL);
    bool declared = near_names.count && strcmp(near_names.names[0], name) == 0;
    spyi_text text = { NULL, 0, 0 };
    spyi_near_text(&near_names, &text);
    if (declared)
        spyi_text_add(
            out,
            ": it declares one, but '%s' is a word of the Slang language, so that no expression can call "
            "it; give the function another name",
            name);
    else spyi_text_add(out, "%s", spyi_text_str(&text));
    spyi_text_free(&text);
}
